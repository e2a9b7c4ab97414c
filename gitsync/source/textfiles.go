package source

import (
	"errors"
	"fmt"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Kept is a file of a source with its text, such as a test beside manifests.
type Kept struct {
	Source string // the source's label
	Path   string
	Text   []byte
}

// Keep returns the files below the paths of the sources whose texts match, as the sources were read last. Files that
// belong to a kustomization count too, and those that a .sourceignore file hides do not.
func (s *Sources) Keep(pass *budget.Pass, commits []*object.Commit, matches func(text []byte) bool) (out []Kept,
	err error) {
	if matches == nil {
		return nil, nil
	}
	for i, src := range s.List {
		if out, err = keep(pass, src, commits[i], matches, out); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", commits[i].Hash, src.Repo.URL(), err)
		}
	}
	return out, nil
}

func keep(pass *budget.Pass, s *Source, at *object.Commit, matches func(text []byte) bool, out []Kept) ([]Kept, error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	for _, prefix := range distinct(s.Paths) {
		err := object.Walk(rd, at.Tree, object.WalkOptions{Prefix: prefix}, func(name string, e object.Entry) error {
			if !readable(name, prefix) || refuseMode(e.Mode) != nil || s.Input.rules.Ignores(name) {
				return nil
			}
			text, err := rd.Blob(e.Hash, manifest.MaxFileBytes)
			if errors.Is(err, limit.ErrTooLarge) {
				return nil // whoever reads it as a manifest reports it
			}
			if err != nil || !matches(text) {
				return err
			}
			out = append(out, Kept{Source: s.Label, Path: name, Text: text})
			return pass.Take(int64(len(text)))
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
