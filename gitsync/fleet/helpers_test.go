package fleet

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

func output(url string) func(*pipeline.Spec) {
	return func(s *pipeline.Spec) { s.Output.URL = url }
}

func failing(err error) func(*fakePasser) (*gitsync.Report, error) {
	return func(*fakePasser) (*gitsync.Report, error) { return nil, err }
}

// repoHash is a commit, or none for the empty text.
func repoHash(text string) plumbing.Hash {
	if text == "" {
		return plumbing.ZeroHash
	}
	return hash(text)
}
