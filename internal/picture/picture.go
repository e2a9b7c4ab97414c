// Package picture draws hierarchies: as SVG for pages and people, and as DOT for Graphviz.
//
// An SVG is a nested list to a screen reader, needs no script, and shows each state by shape as well as by colour.
// Names and messages are text in it, never tags.
package picture

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/explain"
)

// Link returns the address of the page about an object. Nil means that there are no pages.
type Link func(explain.Object) string

// node is a drawn node: an object, or a placeholder for several.
type node struct {
	kind, name, note, link string
	state                  explain.State
	counts                 string
	children               []*node
}

// folded is the state of a node that stands for several objects.
const folded explain.State = "folded"

// maxNodes limits the drawn nodes. At most 30 children of a node are drawn, or fewer if the total would be too high.
const maxNodes = 1000

// drawAll returns the nodes to draw for some trees.
func drawAll(roots []*explain.Node, link Link) []*node {
	forest := &explain.Node{Children: roots}
	for _, most := range []int{30, 10, 3} {
		if all := draw(forest, link, most); all.size() <= maxNodes {
			return all.children
		}
	}
	return draw(forest, link, 1).children
}

func (n *node) size() int {
	size := 1
	for _, c := range n.children {
		size += c.size()
	}
	return size
}

// draw returns the nodes to draw for a node and everything below it. If it has more than most children, one node
// counts the others.
func draw(n *explain.Node, link Link, most int) *node {
	out := &node{kind: n.Object.Kind, name: n.Object.Name, state: n.State, note: n.Why}
	if n.Object.Namespace != "" {
		out.name = n.Object.Namespace + "/" + out.name
	}
	if link != nil && n.Object.Kind != "" {
		out.link = link(n.Object)
	}
	var kinds []string
	total, more := map[string]int{}, map[string]int{}
	kept := keep(n.Children, most)
	for i, c := range n.Children {
		if total[c.Object.Kind]++; total[c.Object.Kind] == 1 {
			kinds = append(kinds, c.Object.Kind)
		}
		if kept[i] {
			out.children = append(out.children, draw(c, link, most))
		} else {
			more[c.Object.Kind]++
		}
	}
	out.counts = counted(kinds, total)
	if len(more) > 0 {
		out.children = append(out.children,
			&node{kind: "more", name: counted(kinds, more), state: folded, link: out.link})
	}
	return out
}

// keep decides which children are drawn: first those that are not rendered as in the inputs.
func keep(children []*explain.Node, most int) []bool {
	kept, left := make([]bool, len(children)), most
	if len(children) > most {
		left-- // for the node that counts the others
	}
	for _, ordinary := range []bool{false, true} {
		for i, c := range children {
			if left > 0 && (c.State == explain.Rendered) == ordinary {
				kept[i] = true
				left--
			}
		}
	}
	return kept
}

// counted returns numbers of objects in words: 3 ServiceMonitors, 1 Probe.
func counted(kinds []string, counts map[string]int) string {
	var parts []string
	for _, kind := range kinds {
		if n := counts[kind]; n == 1 || n > 1 && strings.HasSuffix(kind, "s") {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// Sizes in pixels. The boxes of a column are as wide as their texts need, up to maxBoxWidth.
const (
	boxWidth, maxBoxWidth, boxHeight = 250, 460, 40
	columnGap, rowGap                = 50, 10
	margin                           = 10
	// Even in a pointed box, boxMargin is left, 12-pixel letters are about letterWidth wide, and two 11-pixel letters
	// twoSmallWidth.
	boxMargin, letterWidth, twoSmallWidth = 14, 7, 13
	// noteLetters is for how many letters of a note a box becomes wider.
	noteLetters = 40
)

// column is the left side of a column, and the width of its boxes.
type column struct{ x, width int }

// letters returns how many letters fit into the first and into the second line of a box.
func (c column) letters() (first, second int) {
	return (c.width - boxMargin) / letterWidth, (c.width - boxMargin) * 2 / twoSmallWidth
}

// columnsOf returns the columns for some trees.
func columnsOf(roots []*node) (out []column) {
	var fit func(nodes []*node, depth int)
	fit = func(nodes []*node, depth int) {
		if len(nodes) > 0 && depth == len(out) {
			out = append(out, column{width: boxWidth})
		}
		for _, n := range nodes {
			out[depth].width = min(max(out[depth].width, n.width()), maxBoxWidth)
			fit(n.children, depth+1)
		}
	}
	fit(roots, 0)
	x := margin
	for i := range out {
		out[i].x = x
		x += out[i].width + columnGap
	}
	return out
}

// width returns how wide a box has to be for the texts of a node.
func (n *node) width() int {
	second := utf8.RuneCountInString(n.kindAndCounts())
	if n.note != "" {
		second += min(utf8.RuneCountInString(separator+n.note), noteLetters)
	}
	return boxMargin + max(utf8.RuneCountInString(n.name)*letterWidth, (second*twoSmallWidth+1)/2)
}

// separator is between the texts of a line.
const separator = " · "

func (n *node) kindAndCounts() string {
	if n.counts == "" {
		return n.kind
	}
	return n.kind + separator + n.counts
}

// secondLine returns the kind with the counts, and what fits of the note behind them.
func (n *node) secondLine(most int) string {
	out := n.kindAndCounts()
	if left := most - utf8.RuneCountInString(out+separator); n.note != "" && left > 1 {
		out += separator + short(n.note, left)
	}
	return short(out, most)
}

// placed is a node with its position: its column, and the distance of its middle from the top.
type placed struct {
	*node
	column
	middle int
	below  []*placed
}

// place arranges a node and its descendants in columns, beginning at top, and returns the first row below them.
func place(n *node, columns []column, top int) (*placed, int) {
	p := &placed{node: n, column: columns[0]}
	for _, c := range n.children {
		var child *placed
		child, top = place(c, columns[1:], top)
		p.below = append(p.below, child)
	}
	if len(p.below) == 0 {
		p.middle = top + boxHeight/2
		return p, top + boxHeight + rowGap
	}
	p.middle = (p.below[0].middle + p.below[len(p.below)-1].middle) / 2
	return p, top
}

// Style has the CSS rules of a standalone SVG. A page has its own rules for the same classes: picture, node, line and
// the states.
const Style = `.picture { background: #fff; color: #1f2328; font: 12px system-ui, sans-serif; }
.picture text { fill: currentColor; } .picture .kind { font-size: 11px; opacity: .75; }
.picture .line { fill: none; stroke: #8c959f; } .picture .node path { fill: #f6f8fa; stroke: #57606a; }
.picture .held path { fill: #fff8c5; stroke: #9a6700; stroke-width: 2; } .picture :is(.left-out, .not-rendered) path { fill: #ffebe9; stroke: #cf222e; stroke-width: 2; }
.picture .filter path { fill: #fff8c5; stroke: #9a6700; } .picture .not-selected path { stroke-dasharray: 4 3; } .picture .folded path { fill: none; stroke: none; }
@media (prefers-color-scheme: dark) { .picture { background: #0d1117; color: #e6edf3; } .picture .node path { fill: #161b22; stroke: #8b949e; }
.picture :is(.held, .filter) path { fill: #3b2e00; stroke: #d29922; } .picture :is(.left-out, .not-rendered) path { fill: #490202; stroke: #f85149; } }
`

// SVG writes trees below one another. If it stands alone, it includes [Style]; otherwise the page has the rules.
func SVG(w io.Writer, label string, roots []*explain.Node, link Link, alone bool) error {
	var trees []*placed
	nodes, top := drawAll(roots, link), margin
	columns := columnsOf(nodes)
	for _, n := range nodes {
		var p *placed
		p, top = place(n, columns, top)
		trees = append(trees, p)
	}
	width, height := 2*margin+boxWidth, max(top-rowGap, margin)+margin
	if len(columns) > 0 {
		last := columns[len(columns)-1]
		width = last.x + last.width + margin
	}
	var b strings.Builder
	for _, p := range trees {
		p.write(&b)
	}
	if alone {
		return standalone(w, width, height, label, Caption(roots), b.String())
	}
	return svg(w, width, height, label, b.String())
}

func svg(w io.Writer, width, height int, label, content string) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="list" aria-label="%s" `+
		`width="%d" height="%d" viewBox="0 0 %d %d">`+"\n%s</svg>\n", escape(label), width, height, width, height, content)
	return err
}

// standalone writes an SVG with [Style], and with a title and a description.
func standalone(w io.Writer, width, height int, label, description, content string) error {
	return svg(w, width, height, label, "<title>"+escape(label)+"</title>\n<desc>"+escape(description)+"</desc>\n"+
		"<style>"+Style+"</style>\n"+content)
}

// Caption says what a picture of trees shows: how many objects of each kind, and how many of them are not rendered as
// they are written.
func Caption(roots []*explain.Node) string {
	var kinds, states []string
	byKind, byState, seen := map[string]int{}, map[string]int{}, map[string]bool{}
	var count func([]*explain.Node)
	count = func(nodes []*explain.Node) {
		for _, n := range nodes {
			id := n.Object.ID().String()
			if kind := n.Object.Kind; !seen[id] && kind != "" {
				seen[id] = true
				if byKind[kind]++; byKind[kind] == 1 {
					kinds = append(kinds, kind)
				}
				if state := string(n.State); n.State != explain.Rendered {
					if byState[state]++; byState[state] == 1 {
						states = append(states, state)
					}
				}
			}
			count(n.Children)
		}
	}
	count(roots)
	if len(kinds) == 0 {
		return "no objects"
	}
	out := counted(kinds, byKind)
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", byState[state], state)
	}
	if len(states) > 0 {
		out += ": " + strings.Join(states, ", ")
	}
	return out
}

// write writes a node, the lines to its children, and the children as a list within it.
func (p *placed) write(b *strings.Builder) {
	fmt.Fprintf(b, `<g role="listitem" aria-label="%s">`, escape(p.text()))
	for _, c := range p.below {
		from, to := p.x+p.column.width, c.x
		bend := (from + to) / 2
		fmt.Fprintf(b, `<path class="line" aria-hidden="true" d="M%d %dC%d %d %d %d %d %d"/>`, from, p.middle, bend,
			p.middle, bend, c.middle, to, c.middle)
	}
	if p.link != "" {
		fmt.Fprintf(b, `<a href="%s">`, escape(p.link))
	}
	top := p.middle - boxHeight/2
	fmt.Fprintf(b, `<g class="node %s"><title>%s</title><path d="%s"/>`, strings.ReplaceAll(string(p.state), " ", "-"),
		escape(p.text()), outline(p.state, p.x, top, p.column.width, boxHeight))
	first, second := p.letters()
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><text class="kind" x="%d" y="%d">%s</text></g>`,
		p.x+12, top+17, escape(short(p.name, first)), p.x+12, top+32, escape(p.secondLine(second)))
	if p.link != "" {
		b.WriteString("</a>")
	}
	if len(p.below) > 0 {
		b.WriteString("<g role=\"list\">\n")
		for _, c := range p.below {
			c.write(b)
		}
		b.WriteString("</g>")
	}
	b.WriteString("</g>\n")
}

// text returns the full description of a node, for titles and screen readers.
func (n *node) text() string {
	parts := []string{n.kind + " " + n.name}
	if n.state != explain.Rendered && n.state != folded {
		parts = append(parts, string(n.state))
	}
	for _, s := range []string{n.note, n.counts} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

// outline returns the path of a box: rounded if the object is rendered, with cut corners if it is held, pointed if it
// is left out or not rendered, with a double side if it is paused, and square if nothing selects it.
func outline(s explain.State, x, y, width, height int) string {
	right, bottom := x+width, y+height
	switch s {
	case explain.Held:
		return fmt.Sprintf("M%d %dH%dL%d %dV%dL%d %dH%dL%d %dV%dZ", x+8, y, right-8, right, y+8, bottom-8, right-8,
			bottom, x+8, x, bottom-8, y+8)
	case explain.LeftOut, explain.NotRendered:
		return fmt.Sprintf("M%d %dH%dL%d %dL%d %dH%dZ", x, y, right-14, right, y+height/2, right-14, bottom, x)
	case explain.Paused:
		return fmt.Sprintf("M%d %dH%dV%dH%dZM%d %dV%d", x, y, right, bottom, x, x+5, y, bottom)
	case explain.NotSelected, folded:
		return fmt.Sprintf("M%d %dH%dV%dH%dZ", x, y, right, bottom, x)
	}
	const r = 8
	return fmt.Sprintf("M%d %dH%dA%d %d 0 0 1 %d %dV%dA%d %d 0 0 1 %d %dH%dA%d %d 0 0 1 %d %dV%dA%d %d 0 0 1 %d %dZ",
		x+r, y, right-r, r, r, right, y+r, bottom-r, r, r, right-r, bottom, x+r, r, r, x, bottom-r, y+r, r, r, x+r, y)
}

// escape escapes a text for XML. Control characters, which XML does not allow or which turn the text around, become a
// mark.
func escape(s string) string { return html.EscapeString(diag.OneLine(s)) }

// short cuts a text to n letters, in the middle, because the ends distinguish objects.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n/2]) + "…" + string(r[len(r)-(n-n/2-1):])
}

// The shapes and styles of nodes in Graphviz's language.
var (
	shapes = map[explain.State]string{explain.Held: "octagon", explain.LeftOut: "cds", explain.NotRendered: "cds",
		explain.Paused: "box3d", folded: "plain"}
	styles = map[explain.State]string{explain.Rendered: "rounded", explain.NotSelected: "dashed"}
)

// DOT writes trees in Graphviz's language, folded as in an SVG.
func DOT(w io.Writer, roots []*explain.Node, link Link) error {
	var b strings.Builder
	b.WriteString("digraph hierarchy {\n  rankdir=LR; node [fontname=\"sans-serif\", fontsize=11];\n")
	next := 0
	var write func(n *node) int
	write = func(n *node) int {
		id := next
		next++
		label := slices.DeleteFunc([]string{n.name, n.kind, n.counts, n.note}, func(s string) bool { return s == "" })
		fmt.Fprintf(&b, "  n%d [shape=%s, style=%q, label=%s", id, cmp.Or(shapes[n.state], "box"), styles[n.state],
			quote(strings.Join(label, "\n")))
		if n.link != "" {
			b.WriteString(", URL=" + quote(n.link))
		}
		b.WriteString("];\n")
		for _, c := range n.children {
			fmt.Fprintf(&b, "  n%d -> n%d;\n", id, write(c))
		}
		return id
	}
	for _, r := range drawAll(roots, link) {
		write(r)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// quote quotes a text for Graphviz, where a backslash begins an escape. Its lines stay lines.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(diag.Plain(s)) + `"`
}
