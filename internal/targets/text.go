package targets

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
)

// maxShown limits the targets of a job that the text lists.
const maxShown = 20

// WriteText writes a report for people: what each job has in one line and, with details, its targets and the rules that
// drop others.
func (r *Report) WriteText(w io.Writer, details bool) error {
	p := &printer{}
	p.line(0, "%s", r.summary())
	place := ""
	for _, j := range r.Jobs {
		at := "unit " + j.Unit + ", " + j.Instance
		if j.Pipeline != "" {
			at = "pipeline " + j.Pipeline + ", " + at
		}
		if at != place {
			p.b.WriteString("\n")
			p.line(0, "%s", at)
			place = at
		}
		p.line(1, "%s: %s", j.Name, j)
		if details {
			p.details(j)
		}
	}
	if len(r.Duplicates) > 0 {
		p.b.WriteString("\n")
		p.line(0, "scraped twice")
	}
	for _, d := range r.Duplicates {
		p.line(1, "%s", d)
	}
	for _, name := range r.UnknownUnits {
		p.b.WriteString("\n")
		p.line(0, "unit %s is paused or held, and keeps the folder that it has: its jobs are not known", name)
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// printer writes lines. Foreign text in them cannot control a terminal.
type printer struct{ b strings.Builder }

func (p *printer) line(depth int, format string, args ...any) {
	p.b.WriteString(strings.Repeat("  ", depth) + diag.OneLine(fmt.Sprintf(format, args...)) + "\n")
}

func (r *Report) summary() string {
	kept, without, others, unknown := 0, 0, 0, 0
	for _, j := range r.Jobs {
		kept += j.Kept
		switch {
		case j.Kept > 0:
		case len(j.Incomplete) > 0:
			unknown++
		case len(j.NotComputed) > 0:
			others++
		default:
			without++
		}
	}
	out := amount(len(r.Jobs), "job", "jobs") + ": " + amount(kept, "target", "targets")
	if without > 0 {
		out += ", " + amount(without, "job", "jobs") + " without a target"
	}
	if unknown > 0 {
		out += ", " + amount(unknown, "job", "jobs") + " not known"
	}
	if others > 0 {
		out += ", " + amount(others, "job", "jobs") + " not computed"
	}
	return out
}

// String says in one line what a job has.
func (j *Job) String() string {
	var notes []string
	switch {
	case j.Kept == 0 && len(j.Incomplete) > 0:
		return j.Why
	case j.Kept == 0:
		return "no target: " + j.Why
	}
	out := amount(j.Kept, "target", "targets")
	if j.Equal > 0 {
		notes = append(notes, amount(j.Equal, "more is equal to one of these", "more are equal to these"))
	}
	if j.Dropped > 0 {
		out += fmt.Sprintf(", %d dropped (%s)", j.Dropped, j.byRules())
	}
	if len(j.NotComputed) > 0 {
		notes = append(notes, "not computed: "+strings.Join(j.NotComputed, ", "))
	}
	if len(j.Incomplete) > 0 {
		notes = append(notes, "incomplete: "+strings.Join(j.Incomplete, ", "))
	}
	return strings.Join(append([]string{out}, notes...), "; ")
}

// byRules says how many targets which rules drop.
func (j *Job) byRules() string {
	var rules []string
	for _, d := range j.Drops {
		rules = append(rules, fmt.Sprintf("%d: %s", d.Count, d.Text))
	}
	return strings.Join(rules, "; ")
}

// maxJobs limits the jobs with the same targets that the text names.
const maxJobs = 10

// String says which targets jobs share.
func (d Duplicate) String() string {
	names := slices.Clone(d.Jobs[:min(len(d.Jobs), maxJobs)])
	if more := len(d.Jobs) - len(names); more > 0 {
		names = append(names, amount(more, "more job", "more jobs"))
	}
	last := len(names) - 1
	out := fmt.Sprintf("%s by %s and %s", amount(d.Targets, "target", "targets"), strings.Join(names[:last], ", "),
		names[last])
	if d.SameLabels > 0 {
		out += fmt.Sprintf(", %d with equal labels, so that their samples collide", d.SameLabels)
	}
	return out
}

func (p *printer) details(j *Job) {
	p.line(2, "from %s of %s  %s", j.From.Path, j.Object, at(&j.From))
	for _, d := range j.Discovery {
		p.line(2, "discovery: %s", d.Text)
	}
	for _, t := range j.Targets[:min(len(j.Targets), maxShown)] {
		of := ""
		if t.Of != "" {
			of = "  of " + t.Of
		}
		p.line(2, "%s%s%s", t.URL, of, shards(t.Shards, j.Shards))
		p.line(3, "{%s}", labelText(t.Labels))
	}
	if more := j.Kept - min(len(j.Targets), maxShown); more > 0 {
		p.line(2, "and %d more targets", more)
	}
	for _, d := range j.Drops {
		p.drop(d)
	}
}

func (p *printer) drop(d Drop) {
	p.line(2, "%d dropped: %s", d.Count, d.Text)
	if d.Rule > 0 {
		p.line(3, "rule %d: %s", d.Rule, d.Words)
	}
	if d.From != nil {
		p.line(3, "from %s  %s", d.From.Path, at(d.From))
	}
	for _, e := range d.Examples {
		p.line(3, "%s", strings.Join(append(words(e.Address), words(e.Of)...), " of "))
	}
	if more := d.Count - len(d.Examples); more > 0 {
		p.line(3, "and %d more", more)
	}
}

// words returns a text, unless it is empty.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func shards(in []int, all int) string {
	switch {
	case all == 0:
		return ""
	case len(in) == all:
		return "  by every shard"
	}
	var out []string
	for _, number := range in {
		out = append(out, strconv.Itoa(number))
	}
	return "  by shard " + strings.Join(out, ", ")
}

func labelText(labels map[string]string) string {
	var out []string
	for _, name := range sortedKeys(labels) {
		out = append(out, name+"="+strconv.Quote(labels[name]))
	}
	return strings.Join(out, ", ")
}

func at(f *explain.Field) string {
	if f.File == "" || f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}
