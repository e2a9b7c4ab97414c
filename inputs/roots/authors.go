package roots

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// Authors returns the files that had a say in that the root is built: those of its custom resource.
func (r Root) Authors() []manifest.Author {
	if r.By == nil {
		return nil
	}
	out := slices.Clone(r.By.Authors)
	for i := range out {
		if out[i].Asks == (diag.Object{}) {
			out[i].Asks = r.By.Object
		}
	}
	return out
}

// allRead makes all files that were read the authors of the documents of which nobody knows them: those of a chart depend on its
// templates and on files of values.
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
