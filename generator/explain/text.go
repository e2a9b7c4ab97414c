package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Text returns the explanation for people. Foreign text in it cannot control a terminal.
func (e *Explanation) Text() string {
	p := &printer{}
	p.line(0, "%s  %s", e.Object.ID(), e.Object.place())
	if e.RenderedBy != "" {
		p.line(1, "pipeline: %s", e.RenderedBy)
	}
	if len(e.Object.Labels) > 0 {
		p.line(1, "labels: %s", LabelText(e.Object.Labels))
	}
	p.line(1, "%s", state(e))
	if e.Runtime != "" {
		p.line(1, "runs %s", e.Runtime)
	}
	p.chains(e)
	p.misses("Not selected by, nearest first", e.Misses, e.MoreMisses)
	p.selections(e.Selects)
	p.size(e.Size)
	p.renderings(e)
	p.uses("Uses", e.Uses, func(u Use) string { return u.String() })
	p.uses("Used by", e.UsedBy, func(u Use) string {
		text := u.By.ID().String()
		if u.Key != "" {
			text += ", key " + u.Key
		}
		return text
	})
	p.findings(e.Findings)
	return p.b.String()
}

func (p *printer) findings(list diag.List) {
	if len(list) == 0 {
		return
	}
	p.title("Found")
	for _, d := range list {
		p.line(1, "%s[%s]: %s  %s", d.Severity, d.Code, d.Problem(), at(d.File, d.Line, d.Source))
		if d.Hint != "" {
			p.line(2, "%s", d.Hint)
		}
	}
}

func state(e *Explanation) string {
	if e.Why == "" {
		return string(e.State)
	}
	return string(e.State) + ": " + e.Why
}

// printer writes lines.
type printer struct{ b strings.Builder }

// line writes a line with an indentation.
func (p *printer) line(depth int, format string, args ...any) {
	text := strings.TrimRight(diag.OneLine(fmt.Sprintf(format, args...)), " ")
	p.b.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// title begins a section.
func (p *printer) title(text string) { p.b.WriteString("\n" + text + "\n") }

func (o Object) place() string { return at(o.File, o.Line, o.Source) }

func (f Field) place() string { return at(f.File, f.Line, f.Source) }

// at returns a place, as far as it is known.
func at(file string, line int, source string) string {
	if file != "" && line > 0 {
		file += ":" + strconv.Itoa(line)
	}
	if file != "" && source != "" {
		file += " of " + source
	}
	return file
}

// LabelText returns labels in the order of their names, as in `app=cart, stage=prod`.
func LabelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
}

func (p *printer) chains(e *Explanation) {
	if len(e.SelectedBy) == 0 {
		return
	}
	p.title("Selected by")
	for _, c := range e.SelectedBy {
		for i, s := range c.Steps {
			if i == 0 && c.Ends {
				p.line(1, "no GrafanaAgent selects %s", s.By.ID())
				p.miss(2, c.Misses...)
			}
			p.step(i+1, s)
		}
	}
}

func (p *printer) step(depth int, s Step) {
	p.line(depth, "%s  %s", s.By.ID(), s.Field.place())
	p.line(depth+1, "%s %s", s.Field.Path, chosen(s))
	p.line(depth+1, "looks in %s%s", s.Namespaces, namespaceText(s))
}

// chosen returns the labels that a step wants, in words.
func chosen(s Step) string {
	if len(s.Wants) == 0 {
		return "selects everything"
	}
	return "wants " + strings.Join(met(s.Wants), ", ")
}

// met returns requirements with what meets them.
func met(wants []Requirement) (out []string) {
	for _, want := range wants {
		text := "`" + want.Text + "`"
		switch {
		case !want.Has:
			text += " (it is not set)"
		case want.Text != want.Label+"="+want.Value:
			text += " (it is `" + want.Value + "`)"
		}
		out = append(out, text)
	}
	return out
}

func namespaceText(s Step) string {
	if len(s.NamespaceWants) == 0 {
		return ""
	}
	return ": " + s.Selects.Namespace + " has them"
}

func (p *printer) misses(title string, misses []Miss, more int) {
	if len(misses) == 0 {
		return
	}
	p.title(title)
	p.miss(1, misses...)
	if more > 0 {
		p.line(1, "and %d more", more)
	}
}

func (p *printer) miss(depth int, misses ...Miss) {
	for _, m := range misses {
		of := m.By
		if m.Object != nil {
			of = *m.Object
		}
		place := m.Field.place()
		if m.Object != nil {
			place = of.place()
		}
		p.line(depth, "%s  %s", of.ID(), place)
		for i, r := range m.Reasons {
			if i == len(m.Reasons)-1 && m.Away != "" {
				r += ": " + m.Away
			}
			p.line(depth+1, "%s", r)
		}
		for _, c := range m.Changes {
			p.line(depth+1, "to select it: %s", c)
		}
	}
}

func (p *printer) selections(list []Selection) {
	if len(list) == 0 {
		return
	}
	p.title("Selects")
	for _, s := range list {
		if s.Selector == "" {
			p.line(1, "no %s: %s", strings.Join(s.Kinds, " or "), unchosen(s))
			continue
		}
		p.line(1, "%s: %s is %s, in %s  %s", s.Amount(), s.Field.Path, s.Selector, s.Namespaces,
			s.Field.place())
		for _, o := range s.Objects {
			p.line(2, "%s  %s", o.ID(), o.place())
		}
		if more := s.Count - len(s.Objects); more > 0 {
			p.line(2, "and %d more", more)
		}
		if len(s.Closest) > 0 {
			p.line(2, "closest:")
			p.miss(3, s.Closest...)
		}
	}
}

// unchosen returns why a selector cannot choose anything.
func unchosen(s Selection) string {
	if s.Unset {
		return s.Field.Path + " is not set"
	}
	return s.Field.Path + " is invalid"
}

// Amount returns how many objects of which kinds it chooses.
func (s Selection) Amount() string {
	var kinds []string
	for _, kind := range s.Kinds {
		kinds = append(kinds, plural(kind, s.Count))
	}
	return strconv.Itoa(s.Count) + " " + strings.Join(kinds, " or ")
}

func (p *printer) size(s *Size) {
	if s == nil {
		return
	}
	p.title("Size")
	var counts []string
	kinds := slices.SortedFunc(maps.Keys(s.Counts), func(a, b string) int { return rankOf(a) - rankOf(b) })
	for _, kind := range kinds {
		counts = append(counts, strconv.Itoa(s.Counts[kind])+" "+plural(kind, s.Counts[kind]))
	}
	p.line(1, "%s", strings.Join(append(counts, amount(s.Jobs, "job"), amount(s.Bytes, "byte")), ", "))
	p.shards(s.Shards)
	for _, f := range s.Files {
		p.line(1, "%s: %s, %s", f.Path, amount(f.Bytes, "byte"), amount(f.Jobs, "job"))
	}
	if len(s.Largest) > 0 {
		p.line(1, "largest:")
	}
	for _, share := range s.Largest {
		p.line(2, "%s  %s, %s", share.Object.ID(), amount(share.Bytes, "byte"), amount(share.Jobs, "job"))
	}
}

func amount(n int, noun string) string { return strconv.Itoa(n) + " " + plural(noun, n) }

func (p *printer) renderings(e *Explanation) {
	if len(e.Renders) == 0 {
		return
	}
	p.title("Renders to")
	isInstance := isSelector(e.Object.Kind)
	for _, r := range e.Renders {
		where := "unit " + r.Unit
		if r.Instance != "" && r.Instance != e.Object.ID().String() {
			where += ", " + r.Instance
		}
		p.line(1, "%s", where)
		for _, name := range r.Integrations {
			p.line(2, "integration %s", name)
		}
		for _, j := range r.Jobs {
			p.job(j)
		}
		for _, writer := range r.Writers {
			p.writer(writer, isInstance)
		}
		if r.Instance != "" && len(r.Writers) == 0 {
			p.line(2, "writes nowhere")
		}
	}
}

func (p *printer) job(j Job) {
	size := ""
	if j.Bytes > 0 {
		size = ", " + amount(j.Bytes, "byte")
	}
	p.line(2, "job %s", j.Name)
	if j.File != "" {
		p.line(3, "in %s%s", at(j.File, j.Line, ""), size)
	}
	p.line(3, "from %s  %s", j.From.Path, j.From.place())
	for _, d := range j.Discovery {
		p.line(3, "discovery: %s", d.Text)
	}
	p.filters(j.Targets)
	if j.Scrape != "" {
		p.line(3, "scrape: %s", j.Scrape)
	}
	if len(j.Limits) > 0 {
		p.line(3, "limits: %s", strings.Join(j.Limits, ", "))
	}
	p.filters(j.Series)
	if len(j.Stages) > 0 {
		p.line(3, "%s of its pipeline", amount(len(j.Stages), "stage"))
	}
}

// filters prints those of some rules that can drop something.
func (p *printer) filters(rules []Part) {
	for _, r := range rules {
		if r.Filters {
			p.line(3, "%s", r.Text)
		}
	}
}

func (p *printer) writer(w Writer, isInstance bool) {
	p.line(2, "writes to %s", w.URL)
	if isInstance {
		p.line(3, "from %s of %s", w.Field.Path, w.From.ID())
	}
	if len(w.Secrets) > 0 {
		p.line(3, "with %s", strings.Join(w.Secrets, ", "))
	}
	p.filters(w.Series)
}

func (p *printer) uses(title string, list []Use, name func(Use) string) {
	if len(list) == 0 {
		return
	}
	p.title(title)
	for _, u := range list {
		text := name(u)
		if u.Missing {
			text += " (not in the inputs)"
		}
		p.line(1, "%s: %s  %s", text, u.Field.Path, u.Field.place())
	}
}
