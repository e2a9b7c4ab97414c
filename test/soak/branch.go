package main

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/test/history"
)

// lockFile is the format of docs/promotion.md, declared again so that the oracle does not rely on the code that it
// checks.
type lockFile struct {
	Pipeline string           `json:"pipeline"`
	Sources  []history.Source `json:"sources"`
}

// branch is the output of a pipeline at a commit.
type branch struct {
	*history.Branch
	pipeline *pipeline
	remote   *remote
	commit   string
}

// readBranch reads a branch. A missing or unreadable inventory is an error.
func readBranch(p *pipeline, r *remote, commit string) (*branch, error) {
	all, err := r.folder(commit, p.path)
	if err != nil {
		return nil, err
	}
	b, err := history.ReadBranch(below(all, p.path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", commit, err)
	}
	if b.Pipeline != p.name {
		return nil, fmt.Errorf("the inventory at %s is of pipeline %q", commit, b.Pipeline)
	}
	return &branch{b, p, r, commit}, nil
}

// below returns the files in a folder, by their paths in it.
func below(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if dir == "" {
			out[name] = text
		} else if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = text
		}
	}
	return out
}
