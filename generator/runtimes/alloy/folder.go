package alloy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/alloynames"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// This file distributes a configuration over files of one folder, which Alloy reads as if they were one. Each file is
// small enough for a Secret.
//
// What a monitor becomes is in one file: its rules, and its place in a component that scrapes. The hash of the
// monitor's namespace says in which. A file that is too large is cut in two by the next bit of the hash, and so on: an
// edit changes the file of its monitor, and others stay as they are unless the file becomes too large. A namespace that
// is too large for a file is cut by the hashes of the names of its jobs.

// Parts of a configuration: what other components use, and what targets become.
const (
	sharedPart  = "shared"
	targetsPart = "targets"
)

// split returns a file that is printed as files of a folder. The first has the key of the only file, and all others
// keys of their own. A file is only larger than the limit if it holds nothing but one component. set is the name of a
// StatefulSet: see [runtimes.Printed].
func (f *file) split(set string, limit int) ([]runtimes.File, error) {
	d := distribution{limit: limit}
	settings, rest, err := d.read(f, set)
	if err != nil {
		return nil, err
	}
	first := runtimes.File{Key: configKey}
	if all := append(settings, rest...); d.size(all) <= limit {
		settings, rest = all, nil
	}
	first.Text = joined(nil, settings, d.size(settings))
	d.files = []runtimes.File{first}
	d.place(sharedPart, rest, 0)
	d.place(targetsPart, d.targets, 0)
	return d.files, nil
}

// item is a component with the places of its targets in the components that scrape them; these stay together.
type item struct {
	id     string // of the component
	at     uint64 // the place: 32 bits of the hash of its namespace, then 32 of its own
	own    *component
	bytes  int // of the component
	listed []listed
}

// listed is a list of targets in a component that scrapes.
type listed struct {
	by   *scraper
	list syntax.Expr
}

// scraper is a component that scrapes, without its targets.
type scraper struct{ component }

type distribution struct {
	limit   int
	targets []*item
	files   []runtimes.File
}

// read returns the settings of the program, and the components that are not for the targets of one endpoint. The others
// become the targets of the distribution.
func (d *distribution) read(f *file, set string) (settings, rest []*item, err error) {
	byOutput := map[syntax.Expr]*component{} // rules, by the reference to what they give
	var all []*component
	for c := range f.components() {
		one, err := substituted(c, set)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, one)
		if one.Name == "discovery.relabel" {
			byOutput[syntax.Expr(one.ID()+".output")] = one
		}
	}
	byList := map[syntax.Expr]*item{}
	isListed := map[*component]bool{}
	for _, c := range all {
		if c.targets == nil {
			continue
		}
		by := &scraper{component{Block: c.Block}}
		by.bytes = size(&by.component)
		for _, list := range c.targets {
			i := byList[list]
			if i == nil {
				i = &item{id: c.ID(), at: alloynames.Place("", string(list))}
				if of := byOutput[list]; of != nil {
					i = &item{id: of.ID(), at: alloynames.Place(of.namespace, of.Label), own: of,
						bytes: size(of)}
					isListed[of] = true
				}
				byList[list] = i
				d.targets = append(d.targets, i)
			}
			i.listed = append(i.listed, listed{by, list})
		}
	}
	for _, c := range all {
		one := &item{id: c.ID(), at: alloynames.Place(c.Label, c.Name), own: c, bytes: size(c)}
		switch {
		case c.Label == "":
			settings = append(settings, one)
		case c.targets == nil && !isListed[c]:
			rest = append(rest, one)
		}
	}
	return settings, rest, nil
}

// size returns how many bytes a component has in a file.
func size(c *component) int {
	if c.bytes > 0 {
		return c.bytes
	}
	var text runtimes.Text
	c.appendTo(&text)
	return len(text.Bytes)
}

// place makes files of items whose places begin with the same bits.
func (d *distribution) place(part string, items []*item, bits int) {
	switch {
	case len(items) == 0:
	case len(items) == 1 || bits == 64 || d.size(items) <= d.limit:
		suffix := bitsOf(items[0].at, bits)
		sorted := inOrder(items)
		f := runtimes.File{Part: part + suffix, Key: part + suffix + ".alloy",
			Text: joined(scrapers(sorted, suffix), sorted, d.size(sorted))}
		if len(items) == 1 {
			f.Only = items[0].id
		}
		d.files = append(d.files, f)
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

// bitsOf returns the first bits of a place as the end of a name.
func bitsOf(at uint64, bits int) string {
	switch {
	case bits == 0:
		return ""
	case bits <= 32:
		return "-" + fmt.Sprintf("%064b", at)[:bits]
	}
	return fmt.Sprintf("-%08x-", at>>32) + fmt.Sprintf("%064b", at)[32:bits]
}

// aroundTargets is more than what a component that scrapes has around its lists of targets, and at the end of its
// label.
const aroundTargets = 105

// size returns about how many bytes a file with the items has, and not less.
func (d *distribution) size(items []*item) (n int) {
	seen := map[*scraper]bool{}
	for _, i := range items {
		n += i.bytes
		for _, l := range i.listed {
			n += len(l.list) + 4
			if !seen[l.by] {
				seen[l.by] = true
				n += l.by.bytes + aroundTargets
			}
		}
	}
	return n
}

// scrapers returns the components that scrape the targets of items, with a label for each file.
func scrapers(items []*item, suffix string) (out []*component) {
	lists := map[*scraper]*component{}
	for _, i := range items {
		for _, l := range i.listed {
			c := lists[l.by]
			if c == nil {
				one := l.by.component
				one.Label += "__T" + strings.ReplaceAll(strings.TrimPrefix(suffix, "-"), "-", "_")
				c = &one
				lists[l.by] = c
				out = append(out, c)
			}
			c.targets = append(c.targets, l.list)
		}
	}
	slices.SortFunc(out, func(a, b *component) int { return strings.Compare(a.Label, b.Label) })
	return out
}

// inOrder returns items in an order that does not depend on the order of the objects.
func inOrder(items []*item) []*item {
	return slices.SortedFunc(slices.Values(items), func(a, b *item) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(a.at, b.at))
	})
}

// joined returns the text of a file, which has about so many bytes.
func joined(scrapers []*component, items []*item, bytes int) (text runtimes.Text) {
	text.Bytes = make([]byte, 0, bytes)
	for _, c := range scrapers {
		c.appendTo(&text)
	}
	for _, i := range items {
		if i.own != nil {
			i.own.appendTo(&text)
		}
	}
	if len(text.Bytes) == 0 {
		text.Bytes = []byte("// The other files of this folder are the configuration.\n")
	}
	return text
}
