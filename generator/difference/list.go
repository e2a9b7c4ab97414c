package difference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// items compares two lists: by the names of the items if all have one, otherwise by their order.
func (c *comparison) items(at Path, before, after *node) {
	for _, by := range [...]string{"job_name", "name", "mountPath", "url", "instance", "integration", "component"} {
		old, ok := itemNames(before.items, by)
		if !ok {
			continue
		}
		if now, ok := itemNames(after.items, by); ok {
			c.named(at, by, list{before.items, old}, list{after.items, now})
			return
		}
	}
	c.ordered(at, before.items, after.items)
}

// list is a list with the names of its items.
type list struct {
	items []*node
	names []string
}

// itemNames returns the names of the items in a list, if each item has a unique name.
func itemNames(items []*node, by string) ([]string, bool) {
	names, seen := make([]string, len(items)), make(map[string]bool, len(items))
	for i, item := range items {
		names[i] = item.nameBy(by)
		if names[i] == "" || seen[names[i]] {
			return nil, false
		}
		seen[names[i]] = true
	}
	return names, true
}

// nameBy returns the text of a field of an item, to be shown as the item's name: without a password if it is a URL. If
// the item begins with the field, the item is not parsed.
func (n *node) nameBy(field string) string {
	if n.job != nil && n.job.Name() != "" && field == "job_name" {
		return n.job.Name()
	}
	if n.shape == unread && isItem(n.text) {
		line, _, _ := strings.Cut(string(n.text[1:min(len(n.text), maxNameBytes)]), "\n")
		name, found := strings.CutPrefix(strings.TrimLeft(line, " "), field+": ")
		if found && plainText.MatchString(name) {
			return name
		}
	}
	return credential.Redacted(n.str(field))
}

// maxNameBytes limits the search for the name of an item.
const maxNameBytes = 1 << 10

// plainText matches scalars without quotes that YAML reads as a string, unchanged.
var plainText = lazyregexp.New(`^[A-Za-z][A-Za-z0-9/_.-]*$`)

// named compares two lists whose items have names.
func (c *comparison) named(at Path, by string, before, after list) {
	places := make(map[string]int, len(after.names))
	for i, name := range after.names {
		places[name] = i
	}
	known := make(map[string]int, len(before.names))
	last, isMoved := -1, false
	for i, name := range before.names {
		known[name] = i
		place, stays := places[name]
		step := Step{Field: by, Name: name, IsItem: true, Old: i, New: -1}
		if !stays {
			c.add(Removed, at.with(step), before.items[i], nil)
			continue
		}
		isMoved = isMoved || place < last
		last, step.New = place, place
		c.compare(at.with(step), before.items[i], after.items[place])
	}
	for i, name := range after.names {
		if _, was := known[name]; !was {
			c.add(Added, at.with(Step{Field: by, Name: name, IsItem: true, Old: -1, New: i}), nil, after.items[i])
		}
	}
	if isMoved {
		order := &node{shape: sequence}
		for _, name := range after.names {
			order.items = append(order.items, &node{shape: scalar, plain: name, parent: order})
		}
		c.add(Reordered, at, nil, order)
	}
}

// maxTable limits the comparisons of every item with every other. Longer lists are compared index by index.
const maxTable = 1 << 20

// ordered compares two lists whose items have no names, by their order.
func (c *comparison) ordered(at Path, before, after []*node) {
	same := c.common(before, after)
	b, a := 0, 0
	for _, pair := range append(same, [2]int{len(before), len(after)}) {
		gone, came := before[b:pair[0]], after[a:pair[1]]
		// If the same number of items of the same shape replaces others, they are the same items, changed.
		isChange := len(gone) == len(came)
		for i := range gone {
			isChange = isChange && gone[i].read().shape == came[i].read().shape
		}
		for i := range max(len(gone), len(came)) {
			step := Step{IsItem: true, Old: -1, New: -1}
			if i < len(gone) {
				step.Old = b + i
			}
			if i < len(came) && isChange {
				step.New = a + i
			}
			switch {
			case isChange:
				c.compare(at.with(step), gone[i], came[i])
			case i < len(gone):
				c.add(Removed, at.with(step), gone[i], nil)
			}
		}
		for i := range came {
			if !isChange {
				c.add(Added, at.with(Step{IsItem: true, Old: -1, New: a + i}), nil, came[i])
			}
		}
		b, a = pair[0]+1, pair[1]+1
	}
}

// common returns the indices of a longest sequence of items that two lists have in common.
func (c *comparison) common(before, after []*node) (pairs [][2]int) {
	old, now := c.fingerprints(before), c.fingerprints(after)
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		pairs = append(pairs, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	if x, y := len(old)-head-tail, len(now)-head-tail; x*y <= maxTable {
		for _, p := range longest(old[head:head+x], now[head:head+y]) {
			pairs = append(pairs, [2]int{p[0] + head, p[1] + head})
		}
	}
	for i := tail; i > 0; i-- {
		pairs = append(pairs, [2]int{len(old) - i, len(now) - i})
	}
	return pairs
}

// longest returns the indices of a longest common subsequence.
func longest(old, now []string) (pairs [][2]int) {
	table := make([][]int32, len(old)+1)
	for i := range table {
		table[i] = make([]int32, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if table[i][j] = max(table[i+1][j], table[i][j+1]); old[i] == now[j] {
				table[i][j] = table[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(now); {
		switch {
		case old[i] == now[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case table[i+1][j] >= table[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// fingerprints returns one text for each item. Equal items have equal texts.
func (c *comparison) fingerprints(items []*node) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = fingerprint(item)
	}
	return out
}

// fingerprint encodes a value with its real text. It is never shown.
func fingerprint(n *node) string {
	switch n.read(); n.shape {
	case mapping:
		fields, out := byName(n.fields), "{"
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			key, _ := json.Marshal(name) // a string can always be encoded
			out += string(key) + ":" + fingerprint(fields[name]) + ","
		}
		return out + "}"
	case sequence:
		out := "["
		for _, item := range n.items {
			out += fingerprint(item) + ","
		}
		return out + "]"
	}
	return fmt.Sprintf("%T %q", n.plain, fmt.Sprint(n.plain))
}
