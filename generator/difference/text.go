package difference

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Limits of the text form. JSON is complete.
const (
	maxNames      = 5       // names of things with the same consequence
	maxShownBytes = 160     // of a value
	maxReadBytes  = 2 << 10 // of a value's text that is decoded for display
	maxLineBytes  = 400
	maxKeptBytes  = 64 << 10 // of a difference that is shortened
)

// short is a shortened difference, as text.
type short struct {
	summary          string
	effects, details []Section
}

// Shorten returns the difference as text, cut to the length of a comment. It keeps no values, which hold the manifests
// in memory.
func (d *Difference) Shorten() *Difference {
	if d.IsEmpty() || d.short != nil {
		return d
	}
	left := maxKeptBytes
	cut := func(list []Section) []Section {
		for i, s := range list {
			for j, line := range s.Lines {
				if left -= len(line.String()); left < 0 {
					more := Line{Text: fmt.Sprintf("and %d more lines", len(s.Lines)-j)}
					return append(list[:i:i], Section{s.Heading, append(s.Lines[:j:j], more)})
				}
			}
		}
		return list
	}
	return &Difference{short: &short{d.Summary(), cut(d.Effects()), cut(d.Details())}}
}

// Section is a heading with lines.
type Section struct {
	Heading Line
	Lines   []Line
}

// Line is a line about something and, with a mark, about a change of it.
type Line struct {
	Depth int    // of what is inside the thing of an earlier line
	Mark  string // "+", "-", "~" or nothing
	Text  string
}

// String returns the line, indented.
func (l Line) String() string {
	if l.Mark != "" {
		l.Mark += " "
	}
	return strings.Repeat("  ", l.Depth) + l.Mark + l.Text
}

// Summary counts the changed objects, as in "1 object added, 7 changed".
func (d *Difference) Summary() string {
	switch {
	case d.IsEmpty():
		return "no difference"
	case d.short != nil:
		return d.short.summary
	}
	counts := map[Op]int{}
	for _, o := range d.Objects {
		counts[o.Op]++
	}
	var parts []string
	for _, op := range [...]Op{Added, Changed, Removed} {
		switch n := counts[op]; {
		case n == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, op))
		case n == 1:
			parts = append(parts, fmt.Sprintf("1 object %s", op))
		default:
			parts = append(parts, fmt.Sprintf("%d objects %s", n, op))
		}
	}
	return strings.Join(parts, ", ")
}

// Text returns the whole difference: its consequences, then the changes of each object.
func (d *Difference) Text() string {
	var b strings.Builder
	b.WriteString(d.Summary() + "\n")
	for _, s := range append(d.Effects(), d.Details()...) {
		fmt.Fprintf(&b, "\n%s\n", s.Heading)
		for _, line := range s.Lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// Brief returns the summary and the consequences, in at most limit lines.
func (d *Difference) Brief(limit int) string {
	lines := []string{d.Summary()}
	effects := d.Effects()
	if len(d.Settings) > 0 {
		effects = append(effects[1:], effects[0]) // there can be many
	}
	for _, s := range effects {
		lines = append(lines, "", s.Heading.Text+":")
		for _, line := range s.Lines {
			text := line.String()
			if len(text) > maxLineBytes {
				text = strings.ToValidUTF8(text[:maxLineBytes], "") + "…"
			}
			lines = append(lines, "- "+text)
		}
	}
	if more := len(lines) - limit; more > 0 {
		lines = append(lines[:limit], fmt.Sprintf("and %d more lines", more))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Effects returns the consequences: a section for each kind, in which subjects with the same consequences share a
// line.
func (d *Difference) Effects() (out []Section) {
	if d.short != nil {
		return d.short.effects
	}
	if len(d.Settings) > 0 {
		out = append(out, Section{Line{Text: "settings that the program lacks, or handles differently"},
			settingLines(d.Settings)})
	}
	units := map[string]bool{}
	for _, o := range d.Objects {
		units[o.Unit] = true
	}
	for rest := d.Consequences; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Kind == rest[0].Kind {
			n++
		}
		out = append(out, Section{Line{Text: rest[0].Kind.Description()}, effectLines(rest[:n], len(units) > 1)})
		rest = rest[n:]
	}
	return out
}

// settingLines returns the diagnostics about settings, each with its position.
func settingLines(list diag.List) (lines []Line) {
	for _, f := range list {
		text := fmt.Sprintf("%s: %s: %s", f.Position(), f.Object, f.Advice())
		lines = append(lines, Line{Text: diag.OneLine(text)})
	}
	return lines
}

// effectLines returns the consequences of one kind, one line for each group of subjects with the same consequences.
func effectLines(list []Consequence, manyUnits bool) (lines []Line) {
	var subjects []string
	fates, more := map[string][]string{}, map[string]int{}
	for _, c := range list {
		subject := c.Subject
		if manyUnits && !strings.Contains(subject, c.Unit) {
			subject += " (" + c.Unit + ")"
		}
		if fates[subject] == nil {
			subjects = append(subjects, subject)
		}
		fates[subject], more[subject] = append(fates[subject], c.What), more[subject]+c.more
	}
	shared := map[string][]string{}
	var order []string
	for _, subject := range subjects {
		fate := enumerate(fates[subject], more[subject])
		if shared[fate] == nil {
			order = append(order, fate)
		}
		shared[fate] = append(shared[fate], subject)
	}
	for _, fate := range order {
		line := enumerate(shared[fate], 0)
		if fate != "" {
			line += ": " + fate
		}
		lines = append(lines, Line{Text: diag.OneLine(line)})
	}
	return lines
}

// enumerate returns a list as text: its first items, and the number of further ones, more of which are not in the list.
func enumerate(list []string, more int) string {
	end := ""
	if all := len(list) + more; all > maxNames+1 {
		end = fmt.Sprintf(" and %d more", all-maxNames)
		list = list[:min(len(list), maxNames)]
	}
	return strings.Join(list, ", ") + end
}

// Details returns the changes of each object.
func (d *Difference) Details() (out []Section) {
	if d.short != nil {
		return d.short.details
	}
	for _, o := range d.Objects {
		s := Section{Heading: Line{Mark: mark(o.Op),
			Text: o.ID.Kind + " " + strings.TrimPrefix(o.ID.Namespace+"/"+o.ID.Name, "/")}}
		top := &thing{}
		for _, c := range o.Changes {
			if len(c.Path) > 0 {
				top.put(c)
			}
		}
		s.Lines = top.lines()
		out = append(out, s)
	}
	return out
}

// mark returns the sign for an operation.
func mark(op Op) string {
	switch op {
	case Added:
		return "+"
	case Removed:
		return "-"
	}
	return "~"
}

// thing is a changed part of an object, with its own changed parts.
type thing struct {
	name, mark, value string
	own               []Line // about its fields
	parts             []*thing
	byName            map[string]*thing
}

// put adds a change.
func (t *thing) put(c Change) {
	parts, rest := c.Path.parts()
	for _, name := range parts {
		part := t.byName[name]
		if part == nil {
			part = &thing{name: name, mark: mark(Changed)}
			if t.byName == nil {
				t.byName = map[string]*thing{}
			}
			t.byName[name], t.parts = part, append(t.parts, part)
		}
		t = part
	}
	if rest == "" && len(parts) > 0 {
		t.mark, t.value = mark(c.Op), c.brief()
		return
	}
	if text := c.brief(); text != "" {
		rest += ": " + text
	}
	t.own = append(t.own, Line{Mark: mark(c.Op), Text: diag.OneLine(rest)})
}

// lines returns the lines about the parts of a thing. Parts with the same changes share their lines, and the only
// change of a part stands beside its name.
func (t *thing) lines() []Line {
	type group struct {
		mark, value string
		names       []string
		lines       []Line
	}
	out := slices.Clone(t.own)
	var groups []*group
	byText := map[string]*group{}
	for _, part := range t.parts {
		lines := part.lines()
		text := part.mark + part.value
		for _, line := range lines {
			text += "\n" + line.String()
		}
		g := byText[text]
		if g == nil {
			g = &group{mark: part.mark, value: part.value, lines: lines}
			byText[text], groups = g, append(groups, g)
		}
		g.names = append(g.names, part.name)
	}
	for _, g := range groups {
		sign, head, lines, deeper := g.mark, enumerate(g.names, 0), g.lines, 1
		switch {
		case g.value != "":
			head += ": " + g.value
		case sign == mark(Changed) && isOne(lines):
			sign, head, lines, deeper = lines[0].Mark, head+within+lines[0].Text, lines[1:], 0
		}
		out = append(out, Line{Mark: sign, Text: diag.OneLine(head)})
		for _, line := range lines {
			line.Depth += deeper
			out = append(out, line)
		}
	}
	return out
}

// isOne reports whether lines are about one part, so that all lines are below the first.
func isOne(lines []Line) bool {
	for i, line := range lines {
		if (line.Depth > 0) != (i > 0) {
			return false
		}
	}
	return len(lines) > 0
}

// brief returns the values of a change in one line, if they are short.
func (c Change) brief() string {
	switch {
	case c.Op == Reordered:
		return "reordered"
	case c.Before == nil && c.After == nil:
		return ""
	case c.Before == nil:
		return c.After.brief()
	case c.After == nil:
		return c.Before.brief()
	}
	before, after := c.Before.brief(), c.After.brief()
	if before == after {
		return before + ", changed"
	}
	return before + " → " + after
}

// brief returns the value in one line, or "" if it is long.
func (v *Value) brief() string {
	if len(v.node.text) > maxReadBytes {
		return ""
	}
	text := flow(v.Any())
	if len(text) > maxShownBytes {
		if _, isText := v.Any().(string); !isText {
			return ""
		}
		text = strings.ToValidUTF8(text[:maxShownBytes], "") + "…"
	}
	return text
}

// flow returns a value in one line, in YAML's flow style.
func flow(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case Hidden:
		return v.Text
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+flow(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	text := fmt.Sprint(v)
	if text != strings.TrimSpace(text) || text == "" {
		return strconv.Quote(text)
	}
	return text
}
