package source

import (
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/go-git/go-git/v5/plumbing"
)

// Source is one source with what was read of it.
type Source struct {
	pipeline.Source
	Repo   *repo.Repo
	Label  string              // its URL in diagnostics, if there are several sources
	Verify *signature.Verifier // of commits; nil accepts any
	Input  Input
	base   *Base // nil until it is needed
	older  olderCommits
	head   plumbing.Hash // the last commit that [Source.Choose] accepted
}

// RefName returns the ref as inventories and lock files name it.
func (s *Source) RefName() string { return s.Ref.RepoRef().String() }

// size estimates how many bytes are kept of the source.
func (s *Source) size() int64 {
	var size int64
	for _, f := range s.Input.Files {
		size += f.size()
	}
	if s.base != nil {
		for _, f := range s.base.Files {
			size += f.size()
		}
	}
	return size
}

// Estimates of the bytes kept between passes, measured with ServiceMonitors, ConfigMaps and ignored kinds: for
// a file, for an object, and for each byte of text, which is kept as values too.
const (
	BytesPerFile   = 600
	bytesPerObject = 2 << 10
	CopiesOfText   = 2
)

func (f *File) size() int64 {
	return int64(BytesPerFile + bytesPerObject*len(f.Result.Objects) + CopiesOfText*f.bytes)
}
