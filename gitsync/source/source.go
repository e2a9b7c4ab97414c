package source

import (
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Source is one source with what was read of it.
type Source struct {
	pipeline.Source
	Repo  *repo.Repo
	Label string // its URL in diagnostics, if there are several sources
	Input Input
	base  *Base // nil until it is needed
	away  missingCommits
}

// Forget drops what was read of the source. The next pass reads it again.
func (s *Source) Forget() { s.Input, s.base = Input{}, nil }

// Size estimates how many bytes are kept of the source.
func (s *Source) Size() int64 {
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

// ReadCommit reads a commit from the cache.
func ReadCommit(r *repo.Repo, h plumbing.Hash) (*object.Commit, error) {
	rd := r.Reader()
	defer rd.Close()
	return rd.Commit(h)
}

// Objects merges the objects of all files of the sources. If possible, it updates the last set, so that the
// cost depends on the change.
func Objects(sources []*Source, last *manifest.Set) *manifest.Set {
	var gone, came []*manifest.Object
	reshaped := last == nil
	for _, src := range sources {
		in := &src.Input
		gone, came, reshaped = append(gone, in.gone...), append(came, in.came...), reshaped || in.reshaped
		in.gone, in.came, in.reshaped = nil, nil, false
	}
	if !reshaped {
		if set, ok := last.Change(gone, came); ok {
			return set
		}
	}
	var results []manifest.Result
	for _, src := range sources {
		for _, name := range slices.Sorted(maps.Keys(src.Input.Files)) {
			results = append(results, src.Input.Files[name].Result)
		}
	}
	return manifest.NewSet(results...)
}
