package roots

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Authors returns the authors of the custom resource that asks for the root.
func (r Root) Authors() []manifest.Author {
	if r.RequestedBy == nil {
		return nil
	}
	out := slices.Clone(r.RequestedBy.Authors)
	for i := range out {
		if out[i].Asks == (diag.Object{}) {
			out[i].Asks = r.RequestedBy.Object
		}
	}
	return out
}

// blameAllReads makes every file that was read an author of the documents without authors. Charts render such
// documents from templates and values files.
func blameAllReads(t *tree.Tree, docs []manifest.Built) {
	var all []manifest.Author
	reads := t.Reads()
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		if strings.HasPrefix(reads[name], "content ") {
			all = append(all, manifest.Author{File: name})
		}
	}
	for i := range docs {
		if docs[i].Authors == nil {
			docs[i].Authors = all
		}
	}
}
