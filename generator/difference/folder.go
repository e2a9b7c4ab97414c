package difference

import (
	"bytes"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// whole returns a copy of pairs in which the Secrets of one configuration are a single one, with the name of the first: which
// file holds a component makes no difference.
func whole(pairs []Pair) []Pair {
	first := map[manifest.ID]int{}
	for i, p := range pairs {
		if languageIn(p.Before) != nil || languageIn(p.After) != nil {
			first[p.ID] = i
		}
	}
	out := slices.Clone(pairs)
	for i := range out {
		out[i].Before, out[i].After = slices.Clip(out[i].Before), slices.Clip(out[i].After) // which others read
	}
	isPart := map[int]bool{}
	for i, p := range pairs {
		name := p.ID.Name
		for _, text := range [...][]byte{p.Before, p.After} {
			if part, isFile := strings.CutSuffix(workload.FileKey(text), ".alloy"); isFile {
				name = strings.TrimSuffix(name, "-"+part)
			}
		}
		at, found := first[manifest.ID{Kind: p.ID.Kind, Namespace: p.ID.Namespace, Name: name}]
		if !found || at == i || p.ID.Kind != "Secret" || p.IsEncrypted || pairs[at].Unit != p.Unit {
			continue
		}
		isPart[i] = true
		to := &out[at]
		to.Before, to.After = append(to.Before, fileIn(p.Before)...), append(to.After, fileIn(p.After)...)
	}
	var kept []Pair
	for i, p := range out {
		if !isPart[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// fileIn returns the lines of the file in the Secret of a part, as they are indented.
func fileIn(manifest []byte) []byte {
	_, rest, _ := bytes.Cut(manifest, []byte("\nstringData:\n  "))
	_, lines, _ := bytes.Cut(rest, []byte(": |\n"))
	return lines
}
