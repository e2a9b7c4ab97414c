package pipeline

import (
	"path"
	"slices"
	"strings"
)

// Overlap is a pair of pipelines, by index, that cannot both run.
type Overlap struct {
	First, Second int
	// SameName means that the names are equal, SameArtifact that both push to one OCI repository. Otherwise the
	// places that they write to are equal or nested.
	SameName, SameArtifact bool
}

// Overlaps returns the pipelines of a fleet that have the same name or write to the same place, each pair once,
// in order. Its time is proportional to the fleet, not to its square.
func Overlaps(fleet []*Pipeline) []Overlap {
	seen := claims{}
	var found []Overlap
	for j, p := range fleet {
		mine := p.claims()
		for _, i := range seen.conflicting(mine) {
			first := fleet[i]
			found = append(found, Overlap{
				First: i, Second: j,
				SameName:     first.Metadata.Name == p.Metadata.Name,
				SameArtifact: p.Spec.Output.OCI != nil && p.Spec.Output.OCI.claim() == first.Spec.Output.OCI.claim(),
			})
		}
		seen.add(mine, j)
	}
	return found
}

// claim is a name that only one pipeline may have, with the names above it. Nobody else may have those: a
// pipeline must not write to a folder that contains another one's folder.
type claim struct {
	own   string
	above []string
	// shared claims may be equal but not nested: two pipelines may write to two folders of one branch, but Git
	// does not allow the branches a and a/b together.
	shared bool
}

// claims returns all claims of a pipeline.
func (p *Pipeline) claims() []claim {
	out := []claim{{own: "name " + p.Metadata.Name}}
	if oci := p.Spec.Output.OCI; oci != nil {
		out = append(out, claim{own: oci.claim()})
	}
	for _, at := range p.Spec.Output.places() {
		branch := "branch " + at.repository + " "
		folder := "folder " + at.repository + " " + at.branch + " /"
		out = append(out,
			claim{own: branch + at.branch, above: parents(branch, at.branch), shared: true},
			claim{own: folder + at.path, above: parents(folder, at.path)})
	}
	return out
}

// claim returns the claim on the repository of the artifacts, or nothing without OCI. The tag is not part of
// it: artifacts of both pipelines would also have tags with their input commits.
func (o *OCI) claim() string {
	if o == nil {
		return ""
	}
	return "artifact " + strings.ToLower(strings.TrimSuffix(o.URL, "/"))
}

// parents returns the names above a slash-separated name, each with the prefix.
func parents(prefix, name string) []string {
	var out []string
	for name != "." && name != "/" {
		name = path.Dir(name)
		out = append(out, prefix+name)
	}
	return out
}

// claims maps a name to the pipelines that claim it, and to those that claim a name below it.
type claims map[string]struct{ own, below []int }

// conflicting returns the pipelines whose claims conflict with the wanted ones.
func (c claims) conflicting(wanted []claim) []int {
	var found []int
	for _, w := range wanted {
		at := c[w.own]
		found = append(found, at.below...)
		if !w.shared {
			found = append(found, at.own...)
		}
		for _, name := range w.above {
			found = append(found, c[name].own...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (c claims) add(list []claim, pipeline int) {
	for _, w := range list {
		at := c[w.own]
		at.own = append(at.own, pipeline)
		c[w.own] = at
		for _, name := range w.above {
			at := c[name]
			at.below = append(at.below, pipeline)
			c[name] = at
		}
	}
}
