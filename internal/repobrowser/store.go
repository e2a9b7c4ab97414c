package repobrowser

import (
	"log/slog"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/explainers"
)

// Fleet opens the caches. [fleet.Fleet] implements it.
type Fleet interface {
	Pipeline(name string) (fleet.Status, bool)
	// Caches opens a Reader of each repository of a pipeline, which the caller must close.
	Caches(name string) (readers []*object.Reader, ok bool)
}

var _ Fleet = (*fleet.Fleet)(nil)

// Store answers requests about the repositories of a fleet. It is safe for concurrent use.
type Store struct {
	fleet   Fleet
	changes *changes
}

// NewStore returns a Store for a fleet. It logs panics.
func NewStore(f Fleet, log *slog.Logger) *Store { return &Store{fleet: f, changes: newChanges(log)} }

// view has the caches of one pipeline.
type view struct {
	fleet.Status
	readers []*object.Reader
}

// open opens the caches of a pipeline.
func (s *Store) open(pipeline string) (*view, *explainers.Refusal) {
	status, ok := s.fleet.Pipeline(pipeline)
	if !ok {
		return nil, &explainers.Refusal{Status: http.StatusNotFound, Message: "no such pipeline"}
	}
	readers, _ := s.fleet.Caches(pipeline)
	return &view{status, readers}, nil
}

func (v *view) close() {
	for _, rd := range v.readers {
		rd.Close()
	}
}

// with returns the Reader of the repository that has a commit, or nil.
func (v *view) with(commit string) *object.Reader {
	for _, rd := range v.readers {
		if plumbing.IsHash(commit) && rd.Has(plumbing.NewHash(commit)) {
			return rd
		}
	}
	return nil
}

// output returns the output branch at its tip.
func (v *view) output() (*output, *explainers.Refusal) {
	switch {
	case v.ForEach != "":
		return nil, &explainers.Refusal{Status: http.StatusNotFound,
			Message: "this definition has no output branch of its own",
			Hint:    "ask for one of the pipelines that it generates"}
	case !v.Owned:
		return nil, &explainers.Refusal{Status: http.StatusServiceUnavailable,
			Message: "another replica is active, and has the repositories", Hint: "ask the active replica"}
	case v.Output == nil || v.Output.Commit == "":
		return nil, &explainers.Refusal{Status: http.StatusNotFound,
			Message: "the output branch has no commit yet", Hint: "the first pass makes one"}
	}
	rd := v.with(v.Output.Commit)
	if rd == nil {
		return nil, &explainers.Refusal{Status: http.StatusServiceUnavailable,
			Message: "the newest commit of the output branch is not in the cache",
			Hint:    "the next fetch gets it"}
	}
	return &output{Reader: rd, tip: plumbing.NewHash(v.Output.Commit), path: v.Output.Path}, nil
}

// output is the output branch of a pipeline.
type output struct {
	*object.Reader
	tip  plumbing.Hash
	path string // of the pipeline, from the root of the branch
}
