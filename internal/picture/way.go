package picture

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/explain"
)

// Sizes of the boxes of ways, in pixels.
const (
	perRow     = 4  // boxes
	wayGap     = 34 // between two boxes of a row, and between two rows
	lineHeight = 15
	wayLetters = 32 // of a line of text
	maxLines   = 8  // of the text of a box
)

// ways draws explanations below one another.
type ways struct {
	b   strings.Builder
	top int
	// wide is how many boxes the widest row has.
	wide int
}

// ExplanationsSVG writes the chains of selectors that lead to each object, and the ways of its jobs to their writers,
// as an SVG that stands alone.
func ExplanationsSVG(w io.Writer, items []*explain.Explanation) error {
	d := &ways{top: margin, wide: 1}
	for _, e := range items {
		fmt.Fprintf(&d.b, `<g role="listitem" aria-label="%s">`+"\n", escape(described(e)))
		d.chains(e)
		for _, r := range e.Renders {
			d.rendering(r)
		}
		d.b.WriteString("</g>\n")
		d.top += wayGap
	}
	width := 2*margin + d.wide*(boxWidth+wayGap) - wayGap
	var names []string
	for _, e := range items {
		names = append(names, described(e))
	}
	return standalone(w, width, d.top-wayGap+margin, "agentry explain", strings.Join(names, "; "), d.b.String())
}

// described says what an explanation is about.
func described(e *explain.Explanation) string {
	jobs := 0
	for _, r := range e.Renders {
		jobs += len(r.Jobs)
	}
	out := e.Object.ID().String() + ", " + string(e.State)
	if jobs > 0 {
		out += ", " + counted([]string{"job"}, map[string]int{"job": jobs})
	}
	return out
}

// chains draws the chains of selectors, from a GrafanaAgent to the object. An object that nothing selects hangs at the
// nearest that would.
func (d *ways) chains(e *explain.Explanation) {
	chains := chainsOf(e)
	for _, chain := range chains {
		d.b.WriteString(`<g role="list">` + "\n")
		for i, n := range chain {
			p := &placed{node: n, middle: d.top + boxHeight/2, column: column{d.x(i), boxWidth}}
			if i+1 < len(chain) {
				d.line(p.x+boxWidth, p.middle, d.x(i+1), p.middle)
			}
			p.write(&d.b)
		}
		d.wide = max(d.wide, len(chain))
		d.b.WriteString("</g>\n")
		d.top += boxHeight + rowGap
	}
	d.top += rowGap
}

// chainsOf returns the objects of each chain as nodes.
func chainsOf(e *explain.Explanation) (out [][]*node) {
	object := nodeOf(e.Object)
	object.state, object.note = e.State, e.Why
	for _, c := range e.SelectedBy {
		var chain []*node
		for _, s := range c.Steps {
			n := nodeOf(s.By)
			n.state = explain.Rendered
			if c.Ends {
				n.state = explain.NotSelected
			}
			chain = append(chain, n)
		}
		out = append(out, append(chain, object))
	}
	if len(out) > 0 {
		return out
	}
	for _, m := range e.Misses {
		n := nodeOf(m.By)
		n.state, n.note = explain.NotSelected, m.Away
		out = append(out, []*node{n, object})
	}
	if len(out) == 0 {
		out = [][]*node{{object}}
	}
	return out
}

func nodeOf(o explain.Object) *node {
	n := &node{kind: o.Kind, name: o.Name}
	if o.Namespace != "" {
		n.name = o.Namespace + "/" + n.name
	}
	return n
}

// x returns the left side of a column.
func (d *ways) x(column int) int { return margin + column*(boxWidth+wayGap) }

func (d *ways) line(points ...int) {
	d.b.WriteString(`<path class="line" aria-hidden="true" d="M` + strconv.Itoa(points[0]))
	for _, p := range points[1:] {
		d.b.WriteString(" " + strconv.Itoa(p))
	}
	d.b.WriteString(`"/>`)
}

func (d *ways) heading(text string) {
	fmt.Fprintf(&d.b, `<text x="%d" y="%d">%s</text>`+"\n", margin, d.top+lineHeight, escape(text))
	d.top += lineHeight + rowGap
}

func (d *ways) rendering(r explain.Rendering) {
	d.heading(placeOf(r))
	for _, name := range r.Integrations {
		d.heading("integration " + name)
	}
	for _, j := range r.Jobs {
		d.heading("job " + j.Name)
		fmt.Fprintf(&d.b, `<g role="list" aria-label="%s">`+"\n", escape("job "+j.Name))
		d.way(r.Boxes(j), nil)
		d.b.WriteString("</g>\n")
		d.top += rowGap
	}
}

func placeOf(r explain.Rendering) string {
	if r.Instance == "" {
		return "unit " + r.Unit
	}
	return "unit " + r.Unit + ", " + r.Instance
}

// end is where a line to the next box begins.
type end struct{ x, y int }

// way draws boxes in rows. from is the end of the box before them, if there is one.
func (d *ways) way(boxes []explain.Box, from *end) {
	for len(boxes) > 0 {
		if branches := boxes[0].Branches; len(branches) > 0 {
			for _, branch := range branches {
				d.way(branch, from)
			}
			boxes = boxes[1:]
			continue
		}
		n := 0
		for n < min(len(boxes), perRow) && len(boxes[n].Branches) == 0 {
			n++
		}
		from = d.row(boxes[:n], from)
		boxes = boxes[n:]
	}
}

// row draws the boxes of one row, and returns the end of the last.
func (d *ways) row(boxes []explain.Box, from *end) *end {
	height := 0
	for i, b := range boxes {
		lines := linesOf(b)
		x, tall := d.x(i), len(lines)*lineHeight+10
		middle := d.top + boxHeight/2
		switch {
		case from != nil && i == 0: // from the end of the row above
			over := d.top - wayGap/2
			d.line(from.x, from.y, from.x+margin/2, from.y, from.x+margin/2, over, x-margin/2, over, x-margin/2, middle,
				x, middle)
		case from != nil:
			d.line(from.x, middle, x, middle)
		}
		class, shape := "rendered", explain.Rendered
		if b.Filters {
			class, shape = "filter", explain.LeftOut
		}
		text := strings.Join(append([]string{b.Kind + ": " + b.Text}, append(b.Notes, writtenAt(b)...)...), ", ")
		fmt.Fprintf(&d.b, `<g role="listitem" aria-label="%s"><g class="node %s"><title>%s</title><path d="%s"/>`,
			escape(text), class, escape(text), outline(shape, x, d.top, boxWidth, tall))
		for n, line := range lines {
			of := ""
			if n == 0 || n >= len(lines)-len(b.Notes)-len(writtenAt(b)) {
				of = ` class="kind"`
			}
			fmt.Fprintf(&d.b, `<text%s x="%d" y="%d">%s</text>`, of, x+12, d.top+lineHeight*(n+1)+1, escape(line))
		}
		d.b.WriteString("</g></g>\n")
		from, height = &end{x + boxWidth, middle}, max(height, tall)
	}
	d.wide = max(d.wide, len(boxes))
	d.top += height + wayGap
	return from
}

// writtenAt returns where the author wrote a box, if that is known.
func writtenAt(b explain.Box) []string {
	switch {
	case b.From == nil:
		return nil
	case b.From.File == "" || b.From.Line == 0:
		return []string{cmp.Or(b.From.File, b.From.Path)}
	}
	return []string{b.From.File + ":" + strconv.Itoa(b.From.Line)}
}

// linesOf returns the lines of a box: its kind, its text, notes and its place.
func linesOf(b explain.Box) []string {
	text := wrapped(b.Text)
	if len(text) > maxLines {
		text = append(text[:maxLines-1], "…")
	}
	lines := append([]string{b.Kind}, text...)
	for _, s := range append(append([]string(nil), b.Notes...), writtenAt(b)...) {
		lines = append(lines, short(s, wayLetters))
	}
	return lines
}

// wrapped returns the lines of a text. A word that is too long is broken.
func wrapped(text string) (lines []string) {
	line := []rune{}
	for _, word := range strings.Fields(text) {
		letters := []rune(word)
		if len(line) > 0 && len(line)+1+len(letters) > wayLetters {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, letters...)
		for len(line) > wayLetters {
			at := wayLetters
			if mark := strings.LastIndexAny(string(line[:wayLetters]), "_/.;,"); mark > wayLetters/3 {
				at = len([]rune(string(line)[:mark+1]))
			}
			lines, line = append(lines, string(line[:at])), line[at:]
		}
	}
	return append(lines, string(line))
}

// ExplanationsDOT writes the same in Graphviz's language.
func ExplanationsDOT(w io.Writer, items []*explain.Explanation) error {
	d := &dot{}
	d.b.WriteString("digraph explanation {\n  node [fontname=\"sans-serif\", fontsize=11, shape=box];\n")
	for _, e := range items {
		object := ""
		names := map[string]string{} // of objects that chains share
		for _, chain := range chainsOf(e) {
			before := ""
			for _, n := range chain {
				key := n.kind + " " + n.name
				if names[key] == "" {
					names[key] = d.node(shapes[n.state], styles[n.state], n.name, n.kind, n.note)
				}
				d.edge(before, names[key])
				before = names[key]
			}
			object = before
		}
		for _, r := range e.Renders {
			for _, name := range r.Integrations {
				d.edge(object, d.node("box", "", placeOf(r), "integration "+name))
			}
			for _, j := range r.Jobs {
				job := d.node("folder", "", j.Name, placeOf(r))
				d.edge(object, job)
				d.way(r.Boxes(j), job)
			}
		}
	}
	d.b.WriteString("}\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// dot writes nodes and edges.
type dot struct {
	b    strings.Builder
	next int
}

// node writes a node with the lines of its label, without empty ones, and returns its name.
func (d *dot) node(shape, style string, lines ...string) string {
	name := "n" + strconv.Itoa(d.next)
	d.next++
	var label []string
	for _, line := range lines {
		if line != "" {
			label = append(label, line)
		}
	}
	fmt.Fprintf(&d.b, "  %s [shape=%s, style=%q, label=%s];\n", name, cmp.Or(shape, "box"), style,
		quote(strings.Join(label, "\n")))
	return name
}

func (d *dot) edge(from, to string) {
	if from != "" {
		fmt.Fprintf(&d.b, "  %s -> %s;\n", from, to)
	}
}

func (d *dot) way(boxes []explain.Box, from string) {
	for _, b := range boxes {
		if len(b.Branches) > 0 {
			for _, branch := range b.Branches {
				d.way(branch, from)
			}
			continue
		}
		shape := "box"
		if b.Filters {
			shape = "cds"
		}
		n := d.node(shape, "", linesOf(b)...)
		d.edge(from, n)
		from = n
	}
}
