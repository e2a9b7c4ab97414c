package branch

import (
	"cmp"
	"time"
)

// Record is an object that is held, in the inventory: of which version stands in for it, for
// whom and why. One without a commit is left out, or its version is not known.
type Record struct {
	Object string `json:"object"` // Kind/namespace/name
	// Units are those for which it is held; none: for all.
	Units []string `json:"units,omitempty"`
	// The commit whose text stands in, and where in it that is.
	Origin
	// File holds the text. It is empty for Secrets, whose text stays where it is.
	File   string    `json:"file,omitempty"`
	Since  CommitRef `json:"since"`
	Reason string    `json:"reason"`
	Hidden []Place   `json:"hidden,omitempty"`
}

// Origin is where the text of an object comes from.
type Origin struct {
	Source string    `json:"source,omitempty"`
	Ref    string    `json:"ref,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Date   time.Time `json:"date,omitzero"`
	Path   string    `json:"path,omitempty"`
	Blob   string    `json:"blob,omitempty"`
}

// Input is the commit.
func (o Origin) Input() CommitRef { return CommitRef{o.Commit, o.Date} }

// CommitRef names an input commit.
type CommitRef struct {
	Commit string    `json:"commit"` // its full id
	Date   time.Time `json:"date"`   // the committer's
}

// Place is a file of a source, or a path that the pipeline names, that cannot be read.
type Place struct {
	Source string `json:"source"`
	Ref    string `json:"ref"`
	Path   string `json:"path"`
}

// Compare orders places.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Source, other.Source), cmp.Compare(p.Ref, other.Ref), cmp.Compare(p.Path, other.Path))
}
