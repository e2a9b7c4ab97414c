package roots

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Authors returns the files that decided that the root is built: those of its custom resource.
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

// allRead makes all files that were read the authors of documents whose authors are unknown. Charts make such
// documents: they depend on templates and on files of values.
func allRead(t *tree.Tree, docs []manifest.Built) {
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
