package pipeline

import (
	"path"
	"slices"
	"strings"
)

// Overlap is a pair of pipelines, by index, that cannot both run.
type Overlap struct {
	First, Second int
	// SameName says that the names are equal; SameArtifact that they push to one OCI
	// repository; else the places that they write to are equal, or nest.
	SameName, SameArtifact bool
}

// Overlaps finds the pipelines of a fleet that have one name or write to one place, each
// pair once, in order. Its time grows with the fleet, not with its square.
func Overlaps(fleet []*Pipeline) []Overlap {
	seen := claims{}
	var found []Overlap
	for j, p := range fleet {
		mine := p.claims()
		for _, i := range seen.rivals(mine) {
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

// claim is a name that only one pipeline may have, and the names above it that nobody may
// have beside it, as nobody may write to a folder that another one's lies in.
type claim struct {
	own   string
	above []string
	// shared claims may be equal, but not nest: two pipelines may write to two folders of
	// one branch, but Git has no branch a/b beside a branch a.
	shared bool
}

// claims are all that a pipeline claims.
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

// claim names the repository of the artifacts, empty without any. Another tag does not keep
// two pipelines apart, since each artifact has the tag of its input commit too.
func (o *OCI) claim() string {
	if o == nil {
		return ""
	}
	return "artifact " + strings.ToLower(strings.TrimSuffix(o.URL, "/"))
}

// parents are the names that a slash-separated name lies in, each behind the prefix.
func parents(prefix, name string) []string {
	var out []string
	for name != "." && name != "/" {
		name = path.Dir(name)
		out = append(out, prefix+name)
	}
	return out
}

// claims holds who claims a name, and who claims one below it.
type claims map[string]struct{ own, below []int }

// rivals are the pipelines that claim what somebody else wants too.
func (c claims) rivals(wanted []claim) []int {
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
