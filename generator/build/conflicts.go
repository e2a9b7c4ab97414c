package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// reportConflicts reports integrations that one agent cannot run together.
func reportConflicts(report *reports, pod []running) {
	all := make([]integration.Checked, len(pod))
	for i := range pod {
		all[i] = pod[i].Checked
	}
	var clashes []clash
	for _, c := range integration.Conflicts(all) {
		first := pod[c.A].object
		i := slices.IndexFunc(clashes, func(k clash) bool {
			return k.members[0] == first && k.Path == c.Finding.Path && k.Message == c.Finding.Message
		})
		if i < 0 {
			i = len(clashes)
			clashes = append(clashes, clash{c.Finding, []*manifest.Object{first}})
		}
		clashes[i].members = append(clashes[i].members, pod[c.B].object)
	}
	for _, c := range clashes {
		for _, o := range c.members {
			report.found(o, c.seenBy(o))
		}
	}
}

// clash is a problem that several integrations have together. Each of them gets one diagnostic that names the others.
type clash struct {
	diag.Finding
	members []*manifest.Object
}

// maxNamed limits how many of the others a message names.
const maxNamed = 3

func (c clash) seenBy(o *manifest.Object) diag.Finding {
	f := c.Finding
	var names []string
	for _, other := range c.members {
		if other != o {
			names = append(names, other.SeenFrom(o, ""))
			f.Related = append(f.Related, other.Ref())
		}
	}
	switch more := len(names) - maxNamed; {
	case len(names) == 1:
		f.Message += "; the other one is " + names[0]
	case more > 0:
		f.Message += fmt.Sprintf("; the others are %s and %d more", strings.Join(names[:maxNamed], ", "), more)
	default:
		f.Message += "; the others are " + strings.Join(names, ", ")
	}
	return f
}
