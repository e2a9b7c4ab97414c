// Package folder distributes a printed configuration over files of one folder, which Alloy reads as if they were one. Each file is
// small enough for a Secret.
//
// What a monitor becomes is in one file: its rules, and its place in a component that scrapes. The hash of the monitor's namespace
// says in which. A file that is too large is cut in two by the next bit of the hash, and so on: an edit changes the file
// of its monitor, and others stay as they are unless the file becomes too large. A namespace that is too large for a
// file is cut by the hashes of the names of its jobs.
package folder

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/runtime"
)

// Parts of a configuration: what other components use, and what targets become.
const (
	shared  = "shared"
	targets = "targets"
)

// Split returns the files of a configuration. The first has the key, and all others keys of their own. A file is only larger
// than the limit if it holds nothing but one component.
func Split(text []byte, key string, limit int) ([]runtime.File, error) {
	blocks, err := alloyconfig.Blocks(string(text))
	if err != nil {
		return nil, fmt.Errorf("read what was printed: %w", err)
	}
	d := distribution{limit: limit}
	settings, rest := d.read(blocks)
	first := runtime.File{Key: key, Text: join(settings)}
	if all := append(settings, rest...); d.size(all) <= limit {
		first.Text, rest = join(all), nil
	}
	d.files = []runtime.File{first}
	d.place(shared, rest, 0)
	d.place(targets, d.targets, 0)
	return d.files, nil
}

// item is what must stay together: a component, or the rules of a job with its places in components that scrape.
type item struct {
	name  string // a component
	at    uint64 // the place: 32 bits of the hash of its namespace, then 32 of its own
	text  string
	lists []listed
}

// listed is a place of an item in the targets of a component that scrapes.
type listed struct {
	by   *scrape
	expr string
}

// scrape is a component that scrapes, without its targets. Each file with some of them has one of its own.
type scrape struct{ label, rest string }

type distribution struct {
	limit   int
	targets []*item
	files   []runtime.File
}

// read sorts blocks: the settings of the program, what targets become, and the rest.
func (d *distribution) read(blocks []*alloyconfig.Block) (settings, rest []*item) {
	rules := map[string]*alloyconfig.Block{}
	for _, b := range blocks {
		if b.Name == "discovery.relabel" {
			rules[b.ID()+".output"] = b
		}
	}
	byExpr := map[string]*item{}
	for _, b := range blocks {
		s, lists := scrapeOf(b)
		for _, expr := range lists {
			i := byExpr[expr]
			if i == nil {
				i = &item{name: b.ID(), at: alloynames.Place("", expr)}
				if of := rules[expr]; of != nil {
					i = &item{name: of.ID(), at: alloynames.Place(alloynames.Namespace(of.Label), of.Label), text: of.Text}
				}
				byExpr[expr] = i
				d.targets = append(d.targets, i)
			}
			i.lists = append(i.lists, listed{s, expr})
		}
	}
	for _, b := range blocks {
		one := &item{name: b.ID(), at: alloynames.Place(b.Label, b.Name), text: b.Text}
		s, _ := scrapeOf(b)
		switch {
		case b.Label == "":
			settings = append(settings, one)
		case s == nil && (b.Name != "discovery.relabel" || byExpr[b.ID()+".output"] == nil):
			rest = append(rest, one)
		}
	}
	return settings, rest
}

// scrapeOf returns a component that scrapes and its targets, or nil for any other.
func scrapeOf(b *alloyconfig.Block) (*scrape, []string) {
	if b.Name != "prometheus.scrape" || len(b.Attrs) == 0 || b.Attrs[0].Name != "targets" {
		return nil, nil
	}
	list := b.Attrs[0].Value
	_, rest, _ := strings.Cut(b.Text, list)
	inner, isConcat := strings.CutPrefix(list, "array.concat(\n")
	if !isConcat {
		return &scrape{b.Label, rest}, []string{list}
	}
	var all []string
	for line := range strings.Lines(strings.TrimSuffix(strings.TrimRight(inner, "\t)"), "\n")) {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\t\t"), "\n")
		if len(all) > 0 && !isWhole(all[len(all)-1]) {
			all[len(all)-1] += "\n" + line
			continue
		}
		all = append(all, line)
	}
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], ",")
	}
	return &scrape{b.Label, rest}, all
}

// isWhole reports whether lines are a whole item of a list: those of a list in it are indented, and its bracket is not.
func isWhole(lines string) bool {
	last := lines[strings.LastIndexByte(lines, '\n')+1:]
	return strings.HasSuffix(last, ",") && !strings.HasPrefix(last, "\t")
}

// place adds the files of items. They have the first bits of their places in common.
func (d *distribution) place(part string, items []*item, bits int) {
	switch {
	case len(items) == 0:
	case len(items) == 1 || bits == 64 || d.size(items) <= d.limit:
		name := part + nameOf(items[0].at, bits)
		d.files = append(d.files, runtime.File{Part: name, Key: name + ".alloy", Text: write(items, nameOf(items[0].at, bits)), Only: only(items)})
	case bits < 32 && !slices.ContainsFunc(items, func(i *item) bool { return i.at>>32 != items[0].at>>32 }):
		d.place(part, items, 32)
	default:
		var halves [2][]*item
		for _, i := range items {
			bit := i.at >> (63 - bits) & 1
			halves[bit] = append(halves[bit], i)
		}
		d.place(part, halves[0], bits+1)
		d.place(part, halves[1], bits+1)
	}
}

func only(items []*item) string {
	if len(items) > 1 {
		return ""
	}
	return items[0].name
}

// nameOf returns the first bits of a place. Those of a whole namespace are hexadecimal, because they are many.
func nameOf(at uint64, bits int) string {
	switch {
	case bits == 0:
		return ""
	case bits <= 32:
		return "-" + fmt.Sprintf("%064b", at)[:bits]
	}
	return fmt.Sprintf("-%08x-", at>>32) + fmt.Sprintf("%064b", at)[32:bits]
}

// size returns how many bytes a file with the items has.
func (d *distribution) size(items []*item) (n int) {
	seen := map[*scrape]bool{}
	for _, i := range items {
		n += len(i.text) + 1
		for _, l := range i.lists {
			n += len(l.expr) + 4
			if !seen[l.by] {
				seen[l.by] = true
				n += len(l.by.label) + len(l.by.rest) + 128
			}
		}
	}
	return n
}

// write returns the text of a file, sorted: the order of components in the whole configuration depends on other files. The components
// that scrape in it have its name in theirs.
func write(items []*item, name string) []byte {
	items = slices.SortedFunc(slices.Values(items), func(a, b *item) int { return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.at, b.at)) })
	var order []*scrape
	lists := map[*scrape][]string{}
	for _, i := range items {
		for _, l := range i.lists {
			if lists[l.by] == nil {
				order = append(order, l.by)
			}
			lists[l.by] = append(lists[l.by], l.expr)
		}
	}
	slices.SortFunc(order, func(a, b *scrape) int { return strings.Compare(a.label, b.label) })
	var b bytes.Buffer
	for _, s := range order {
		label := s.label + "__T" + strings.ReplaceAll(strings.TrimPrefix(name, "-"), "-", "_")
		fmt.Fprintf(&b, "prometheus.scrape %q {\n\ttargets = array.concat(\n", label)
		for _, expr := range lists[s] {
			b.WriteString("\t\t" + expr + ",\n")
		}
		b.WriteString("\t)" + s.rest + "\n\n")
	}
	b.Write(join(items))
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

func join(items []*item) []byte {
	var texts []string
	for _, i := range items {
		if i.text != "" {
			texts = append(texts, i.text+"\n")
		}
	}
	if len(texts) == 0 {
		return []byte("// The other files of this folder are the configuration.\n")
	}
	return []byte(strings.Join(texts, "\n"))
}
