package explain

// Box is a part of the way of a job as it is drawn, or where the way divides.
type Box struct {
	// Kind is discovery, targets, scrape, series, stage, job or writer.
	Kind, Text string
	// Filters means that targets, series or lines can end here.
	Filters bool
	Notes   []string
	// From is the field that its author wrote, or nil.
	From *Field
	// Branches are the ways to several writers. Then there is nothing else in the box.
	Branches [][]Box
}

func boxed(kind string, parts []Part) (out []Box) {
	for _, part := range parts {
		out = append(out, Box{Kind: kind, Text: part.Text, Filters: part.Filters, From: part.From})
	}
	return out
}

// Boxes returns the way of a job, from what finds its targets to the writers of its instance.
func (r Rendering) Boxes(j Job) []Box {
	out := append(boxed("discovery", j.Discovery), boxed("targets", j.Targets)...)
	if j.Scrape != "" {
		b := Box{Kind: "scrape", Text: j.Scrape, From: &j.From}
		for _, limit := range j.Limits {
			b.Notes = append(b.Notes, "limit: "+limit)
		}
		out = append(out, b)
	}
	out = append(append(out, boxed("series", j.Series)...), boxed("stage", j.Stages)...)
	if len(out) == 0 {
		out = append(out, Box{Kind: "job", Text: "written by hand", From: &j.From})
	}
	switch len(r.Writers) {
	case 0:
		return append(out, Box{Kind: "writer", Text: "writes nowhere", Filters: true})
	case 1:
		return append(out, r.Writers[0].Boxes()...)
	}
	var last Box
	for _, w := range r.Writers {
		last.Branches = append(last.Branches, w.Boxes())
	}
	return append(out, last)
}

// Boxes returns the way to a writer: its rules, and where it sends to.
func (w Writer) Boxes() []Box {
	b := Box{Kind: "writer", Text: w.URL, From: &w.Field}
	for _, secret := range w.Secrets {
		b.Notes = append(b.Notes, "with "+secret)
	}
	return append(boxed("series", w.Series), b)
}
