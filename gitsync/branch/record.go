package branch

import (
	"cmp"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Record is a held object in the inventory: its stand-in, the units that it is held for, and the reason. Without a
// commit, the object is left out or its stand-in is unknown.
type Record struct {
	Object string `json:"object"` // Kind/namespace/name
	// Units lists the units that the object is held for; empty means all.
	Units []string `json:"units,omitempty"`
	// Origin is the place of the stand-in's text.
	Origin
	// File is the file with the text. It is empty for Secrets, whose text stays in the source.
	File   string    `json:"file,omitempty"`
	Since  CommitRef `json:"since"`
	Reason string    `json:"reason"`
	Hidden []Place   `json:"hidden,omitempty"`
}

// Origin is the place that the text of an object comes from.
type Origin struct {
	Source string    `json:"source,omitempty"`
	Ref    string    `json:"ref,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Date   time.Time `json:"date,omitzero"`
	Path   string    `json:"path,omitempty"`
	Blob   string    `json:"blob,omitempty"`
	// With lists the commits of other sources that objects of this source can be built from.
	With []SourceCommit `json:"with,omitempty"`
}

// CommitOf returns the commit of a source that the object is of, or that it can be built from, or zero.
func (o Origin) CommitOf(url, ref string) plumbing.Hash {
	if o.Ref == ref && pipeline.SameRepository(o.Source, url) {
		return plumbing.NewHash(o.Commit)
	}
	return o.CommitWith(url, ref)
}

// CommitWith returns the commit of another source in [Origin.With], or zero.
func (o Origin) CommitWith(url, ref string) plumbing.Hash {
	for _, s := range o.With {
		if s.Ref == ref && pipeline.SameRepository(s.URL, url) {
			return plumbing.NewHash(s.Commit)
		}
	}
	return plumbing.ZeroHash
}

// Input returns the commit.
func (o Origin) Input() CommitRef { return CommitRef{o.Commit, o.Date} }

// CommitRef names an input commit.
type CommitRef struct {
	Commit string    `json:"commit"` // full id
	Date   time.Time `json:"date"`   // of the committer
}

// Place is an unreadable file of a source, or a missing path in the pipeline.
type Place struct {
	Source string `json:"source"`
	Ref    string `json:"ref"`
	Path   string `json:"path"`
}

// Compare orders places.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Source, other.Source), cmp.Compare(p.Ref, other.Ref), cmp.Compare(p.Path, other.Path))
}
