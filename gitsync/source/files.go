package source

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Files returns the files below the paths of the sources whose texts match. It includes files that belong to a
// kustomization, but not files that a .sourceignore file hides. Call it after [Sources.Read] with the same commits.
func (s *Sources) Files(pass *budget.Pass, commits []*object.Commit, matches func(text []byte) bool) (
	out []manifest.File, err error) {
	if matches == nil {
		return nil, nil
	}
	for i, src := range s.List {
		if out, err = appendFiles(out, pass, src, commits[i], matches); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", commits[i].Hash, src.Repo.URL(), err)
		}
	}
	return out, nil
}

func appendFiles(out []manifest.File, pass *budget.Pass, s *Source, at *object.Commit, matches func(text []byte) bool) (
	[]manifest.File, error) {
	rd := s.Repo.Reader()
	defer rd.Close()
	for _, prefix := range distinct(slices.Concat(s.Paths, s.Kept)) {
		err := object.Walk(rd, at.Tree, object.WalkOptions{Prefix: prefix}, func(name string, e object.Entry) error {
			if !readable(name, prefix) || refuseMode(e.Mode) != nil || s.Input.rules.Ignores(name) {
				return nil
			}
			text, err := rd.Blob(e.Hash, manifest.MaxFileBytes)
			if errors.Is(err, limit.ErrTooLarge) {
				return nil // reading it as a manifest reports it
			}
			if err != nil || !matches(text) {
				return err
			}
			out = append(out, manifest.File{Source: s.Label, Path: name, Data: text})
			return pass.Take(int64(len(text)))
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
