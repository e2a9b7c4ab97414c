package initialize

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/checkout"
)

// place is where files are written, and what Git knows of it.
type place struct {
	// the folder that paths begin in: the top of the repository or, without one, the folder itself
	top            string
	folder         string // from the top, with slashes; empty for the top
	named          string // the name of a folder that is in no repository, if one was given
	here           string // the current folder
	origin, branch string // empty if they are not known
	isRepository   bool
}

// locate looks for the repository that a folder is in, which need not be there yet.
func locate(folder string) (place, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return place{}, err
	}
	here, err := os.Getwd()
	if err != nil {
		return place{}, err
	}
	p := place{top: absolute, here: here}
	if top := checkout.Top(absolute); top == "" && absolute != here {
		p.named = filepath.Base(absolute)
	} else if top != "" {
		p.top, p.origin, p.branch, p.isRepository = top, checkout.Origin(top), checkout.Branch(top), true
	}
	relative, err := filepath.Rel(p.top, absolute)
	if relative != "." {
		p.folder = filepath.ToSlash(relative)
	}
	return p, err
}

// elsewhere reports whether the top is not the current folder.
func (p place) elsewhere() bool { return p.top != p.here }

// typed returns a path from the top as people type it in the current folder.
func (p place) typed(name string) string {
	at := filepath.Join(p.top, filepath.FromSlash(name))
	if below, err := filepath.Rel(p.here, at); err == nil {
		at = below
	}
	return filepath.ToSlash(at)
}

// remote returns what git push calls a repository here: the name of a remote, or the URL itself.
func (p place) remote(url string) string {
	if url == p.origin {
		return "origin" // whose own URL may hold credentials
	}
	remotes := checkout.Remotes(p.top)
	for _, name := range slices.Sorted(maps.Keys(remotes)) {
		if pipeline.SameRepository(remotes[name], url) {
			return name
		}
	}
	return url
}
