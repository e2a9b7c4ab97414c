package console

import (
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
)

// box is a box on the way from the targets of a job to its writers, or where the way divides.
type box struct {
	Kind, Text string
	Class      string // of the style
	Notes      []string
	Place      placeLink // of the field that its author wrote
	// Branches are the ways to several writers. Then there is nothing else in the box.
	Branches [][]box
}

// longText is from how many letters on a text has a line of boxes for itself.
const longText = 200

// boxed returns a box for one part of a way.
func (p explainPage) boxed(kind string, part explain.Part) box {
	b := box{Kind: kind, Text: part.Text}
	var classes []string
	if part.Filters {
		classes = append(classes, "filter")
	}
	if utf8.RuneCountInString(part.Text) > longText {
		classes = append(classes, "long")
	}
	b.Class = strings.Join(classes, " ")
	if part.From != nil {
		b.Place = p.placeOf(*part.From)
	}
	return b
}

// Way returns the boxes of a job, from what finds its targets to the writers of its instance.
func (p explainPage) Way(r explain.Rendering, j explain.Job) (out []box) {
	add := func(kind string, parts []explain.Part) {
		for _, part := range parts {
			out = append(out, p.boxed(kind, part))
		}
	}
	add("discovery", j.Discovery)
	add("targets", j.Targets)
	if j.Scrape != "" {
		b := p.boxed("scrape", explain.Part{Text: j.Scrape, From: &j.From})
		for _, limit := range j.Limits {
			b.Notes = append(b.Notes, "limit: "+limit)
		}
		out = append(out, b)
	}
	add("series", j.Series)
	add("stage", j.Stages)
	if len(out) == 0 {
		out = append(out, p.boxed("job", explain.Part{Text: "written by hand", From: &j.From}))
	}
	switch len(r.Writers) {
	case 0:
		return append(out, box{Kind: "writer", Text: "writes nowhere", Class: "filter"})
	case 1:
		return append(out, p.ToWriter(r.Writers[0])...)
	}
	last := box{Class: "divides"}
	for _, w := range r.Writers {
		last.Branches = append(last.Branches, p.ToWriter(w))
	}
	return append(out, last)
}

// ToWriter returns the boxes of a writer: its rules, and where it sends to.
func (p explainPage) ToWriter(w explain.Writer) (out []box) {
	for _, part := range w.Series {
		out = append(out, p.boxed("series", part))
	}
	b := p.boxed("writer", explain.Part{Text: w.URL, From: &w.Field})
	for _, secret := range w.Secrets {
		b.Notes = append(b.Notes, "with "+secret)
	}
	return append(out, b)
}

// placeOf returns the place of a field in the inputs, or its path if the place is not known.
func (p explainPage) placeOf(f explain.Field) placeLink {
	if f.File == "" {
		return placeLink{Text: f.Path}
	}
	return placeLink{fileAndLine(f.File, f.Line), p.FieldPage(f)}
}

// FieldPage returns the page of a field in the inputs at their forge, at the commit that was read.
func (p explainPage) FieldPage(f explain.Field) string {
	return p.row.FilePage(diag.Diagnostic{Source: f.Source, File: f.File, Line: f.Line})
}
