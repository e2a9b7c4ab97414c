package merge

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

const keySize = 16

// separator separates the groups of a document, one group per line.
const separator = ",\n"

// Group is one checked group of a pod: one target and its labels.
type Group struct {
	key         [keySize]byte
	integration string
	json        []byte
}

// Fragment has the canonical groups of one pod, sorted and unique. It is immutable. Nil is the fragment without groups.
type Fragment struct {
	groups []Group
	data   []byte // the JSON of the groups with separators, which groups share
	sum    [sha256.Size]byte
}

// newFragment sorts the groups and copies their JSON into one buffer.
func newFragment(groups []Group) *Fragment {
	slices.SortFunc(groups, func(a, b Group) int { return bytes.Compare(a.json, b.json) })
	groups = slices.CompactFunc(groups, func(a, b Group) bool { return bytes.Equal(a.json, b.json) })
	f := &Fragment{groups: slices.Clone(groups)}
	size := 0
	for _, g := range groups {
		size += len(g.json) + len(separator)
	}
	f.data = make([]byte, 0, size)
	for i := range f.groups {
		if i > 0 {
			f.data = append(f.data, separator...)
		}
		start := len(f.data)
		f.data = append(f.data, f.groups[i].json...)
		f.groups[i].json = f.data[start:len(f.data):len(f.data)]
	}
	f.sum = sha256.Sum256(f.data)
	return f
}

// Holding returns the fragment with the previous answer's groups added whose keys it lacks.
func (f *Fragment) Holding(previous *Fragment) *Fragment {
	if previous == nil || f == nil {
		return f
	}
	present := make(map[[keySize]byte]bool, len(f.groups))
	for _, g := range f.groups {
		present[g.key] = true
	}
	groups := f.groups
	for _, g := range previous.groups {
		if !present[g.key] {
			groups = append(groups[:len(groups):len(groups)], g)
		}
	}
	if len(groups) == len(f.groups) {
		return f
	}
	return newFragment(slices.Clone(groups))
}

// Equal reports whether two fragments have the same bytes.
func (f *Fragment) Equal(other *Fragment) bool { return bytes.Equal(f.bytes(), other.bytes()) }

// Targets returns the number of targets.
func (f *Fragment) Targets() int {
	if f == nil {
		return 0
	}
	return len(f.groups)
}

// Size returns the size in bytes.
func (f *Fragment) Size() int { return len(f.bytes()) }

// Integrations counts the targets of each integration, by the agent's name for it.
func (f *Fragment) Integrations() map[string]int {
	out := map[string]int{}
	if f == nil {
		return out
	}
	for _, g := range f.groups {
		out[g.integration]++
	}
	return out
}

func (f *Fragment) bytes() []byte {
	if f == nil {
		return nil
	}
	return f.data
}

// appendGroup appends the canonical JSON of a group. The labels must be sorted.
func appendGroup(b, target []byte, labels []label) []byte {
	b = append(b, `{"targets":[`...)
	b = appendString(b, target)
	b = append(b, `],"labels":{`...)
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, l.name)
		b = append(b, ':')
		b = appendString(b, l.value)
	}
	return append(b, "}}"...)
}

// appendString appends valid UTF-8 as a JSON string, with as few escapes as JSON allows.
func appendString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	done := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[done:i]...)
		done = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			b = append(b, '\\', c)
		}
	}
	return append(append(b, s[done:]...), '"')
}
