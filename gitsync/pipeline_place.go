package gitsync

import (
	"path"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// place is where a pipeline writes.
type place struct {
	repository, branch, path string
}

func (o Output) place() place {
	return place{repository: repository(o.URL), branch: o.Branch, path: path.Clean(o.Path)}
}

// repository is equal for the URLs of one repository, over whatever protocol: two
// pipelines that reach it over HTTPS and over SSH would overwrite each other's files.
func repository(url string) string {
	normal, err := repo.NormaliseURL(url)
	if err != nil {
		return url // Validate reports it.
	}
	_, address, _ := strings.Cut(normal, "://")
	return address
}

// overlaps reports whether two places are equal or one lies in the other.
func (p place) overlaps(other place) bool {
	return p.repository == other.repository && p.branch == other.branch &&
		(contains(p.path, other.path) || contains(other.path, p.path))
}

// contains reports whether inner is outer or lies below it; both are clean and relative.
func contains(outer, inner string) bool {
	return outer == "." || inner == outer || strings.HasPrefix(inner, outer+"/")
}

// among reports whether the output would be read as input of the next pass.
func (o Output) among(s Source) bool {
	out := o.place()
	if out.repository != repository(s.URL) || out.branch != s.Ref.branch() {
		return false
	}
	for _, p := range s.Paths {
		if contains(path.Clean(p), out.path) {
			return true
		}
	}
	return false
}

// branch is the name of the branch that the reference follows, or empty.
func (r Ref) branch() string {
	if name, ok := strings.CutPrefix(r.Name, "refs/heads/"); ok {
		return name
	}
	return r.Branch
}

// Overlap is a pair of pipelines, by index, that cannot both run.
type Overlap struct {
	First, Second int
	// SameName says that the names are equal; else the outputs are, or nest.
	SameName bool
}

// Overlaps finds the pipelines of a fleet that have one name or write to one place.
func Overlaps(fleet []*Pipeline) []Overlap {
	places := make([]place, len(fleet))
	for i, p := range fleet {
		places[i] = p.Spec.Output.place()
	}
	var found []Overlap
	for j := range fleet {
		for i := range j {
			sameName := fleet[i].Metadata.Name == fleet[j].Metadata.Name
			if sameName || places[i].overlaps(places[j]) {
				found = append(found, Overlap{First: i, Second: j, SameName: sameName})
			}
		}
	}
	return found
}
