package initialize

import (
	"os"
	"path/filepath"

	"github.com/agentry-dev/agentry/internal/checkout"
)

// place is where files are written, and what Git knows of it.
type place struct {
	// the folder that paths begin in: the top of the repository or, without one, the folder itself
	top            string
	folder         string // from the top, with slashes; empty for the top
	elsewhere      bool   // the top is not the current folder
	origin, branch string // empty if they are not known
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
	p := place{top: absolute}
	if top := checkout.Top(absolute); top != "" {
		p.top, p.origin, p.branch = top, checkout.Origin(top), checkout.Branch(top)
	}
	p.elsewhere = p.top != here
	relative, err := filepath.Rel(p.top, absolute)
	if relative != "." {
		p.folder = filepath.ToSlash(relative)
	}
	return p, err
}
