package browse

import (
	"log/slog"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/explained"
)

// Fleet has the caches. It is implemented by [fleet.Fleet].
type Fleet interface {
	Pipeline(name string) (fleet.Status, bool)
	// Caches opens a Reader of each repository of a pipeline, which the caller must close.
	Caches(name string) (readers []*object.Reader, ok bool)
}

var _ Fleet = (*fleet.Fleet)(nil)

// Store answers questions about the repositories of a fleet. It is safe for concurrent use.
type Store struct {
	fleet   Fleet
	changes *changes
}

// NewStore returns a Store of a fleet. Faults go to the log.
func NewStore(f Fleet, log *slog.Logger) *Store { return &Store{fleet: f, changes: newChanges(log)} }

// view is what is cached of one pipeline.
type view struct {
	fleet.Status
	readers []*object.Reader
}

// open opens the caches of a pipeline.
func (s *Store) open(pipeline string) (*view, *explained.Refusal) {
	status, ok := s.fleet.Pipeline(pipeline)
	if !ok {
		return nil, &explained.Refusal{Status: http.StatusNotFound, Message: "no such pipeline"}
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
func (v *view) output() (*output, *explained.Refusal) {
	switch {
	case v.ForEach != "":
		return nil, &explained.Refusal{Status: http.StatusNotFound,
			Message: "this definition has no output branch of its own",
			Hint:    "ask for one of the pipelines that it makes"}
	case !v.Owned:
		return nil, &explained.Refusal{Status: http.StatusServiceUnavailable,
			Message: "another replica makes the passes, and has the repositories", Hint: "ask the active replica"}
	case v.Output == nil || v.Output.Commit == "":
		return nil, &explained.Refusal{Status: http.StatusNotFound,
			Message: "there is no commit on the output branch yet", Hint: "the first pass makes one"}
	}
	rd := v.with(v.Output.Commit)
	if rd == nil {
		return nil, &explained.Refusal{Status: http.StatusServiceUnavailable,
			Message: "the newest commit of the output branch is not in the cache",
			Hint:    "the next look at the repository fetches it"}
	}
	return &output{Reader: rd, tip: plumbing.NewHash(v.Output.Commit), path: v.Output.Path}, nil
}

// output is the output branch of a pipeline.
type output struct {
	*object.Reader
	tip  plumbing.Hash
	path string // of the pipeline, from the root of the branch
}
