package dryrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
)

// Side is one of two things that are compared: the files as they are, a folder, or a revision.
type Side struct {
	Name   string // as it was typed; empty: the files as they are
	Folder string // on disk, unless it is a revision
	// Commit is that of a revision of the repository at hand; zero: it is none, or only known elsewhere.
	Commit plumbing.Hash
}

// Sides are two things that are compared.
type Sides struct {
	Each [2]Side
	// Paths are what of them is compared.
	Paths []string

	repository *checkout.Repository
	prefix     string // the path of the current folder in the repository
}

// ParseSides reads what is compared, A..B or A...B, from the arguments of a command. Without such a name both sides are
// the files as they are. remote allows names of revisions that the repository at hand does not know. The caller must
// close it.
func ParseSides(ctx context.Context, args []string, remote bool) (s *Sides, err error) {
	here, err := workingFolder()
	if err != nil {
		return nil, err
	}
	top := checkout.Top(here)
	s = &Sides{repository: checkout.OpenRepository(top)}
	if below, err := filepath.Rel(top, here); top != "" && err == nil {
		s.prefix = filepath.ToSlash(below)
	}
	if len(args) == 2 {
		if a, b, err := s.pair(ctx, args[0], args[1], false); err == nil {
			s.Each = [2]Side{a, b}
			return s, nil
		}
	}
	var tried error
	for at := range first(args) {
		rest, found := strings.CutPrefix(args[0][at:], "..")
		if !found {
			continue
		}
		fromBase := strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "./") && !strings.HasPrefix(rest, "../")
		if fromBase {
			rest = rest[1:]
		}
		a, b, err := s.pair(ctx, args[0][:at], rest, remote)
		if err == nil && fromBase {
			if a, err = s.base(ctx, a, b); err != nil {
				tried = err
				break
			}
		}
		if err == nil {
			s.Each, s.Paths = [2]Side{a, b}, args[1:]
			return s, s.checkPaths()
		}
		tried = err // the last one splits the longest name on the left
	}
	if tried != nil {
		return s, command.Usagef("name folders, or revisions as git knows them", "%v", tried)
	}
	s.Paths = args
	return s, nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// Close ends the reading of revisions.
func (s *Sides) Close() { s.repository.Close() }

// AreNamed reports whether the sides are two things, and not both the files as they are.
func (s *Sides) AreNamed() bool { return s.Each[0].Name+s.Each[1].Name != "" }

// pair finds what two names mean.
func (s *Sides) pair(ctx context.Context, a, b string, remote bool) (out, other Side, err error) {
	if out, err = s.side(ctx, a, remote); err == nil {
		other, err = s.side(ctx, b, remote)
	}
	return out, other, err
}

// side finds what a name means: a folder, else a revision.
func (s *Sides) side(ctx context.Context, name string, remote bool) (Side, error) {
	out := Side{Name: name}
	if name == "" {
		return out, nil
	}
	if _, err := os.Stat(name); err == nil {
		out.Folder = name
		return out, nil
	}
	var err error
	out.Commit, err = s.repository.Resolve(ctx, name)
	switch {
	case err == nil:
		return out, nil
	case remote && mayBeRevision(name):
		return out, nil
	case errors.Is(err, checkout.ErrNoRepository):
		return out, fmt.Errorf("%s is neither a folder nor a revision: this folder is not in a Git repository", name)
	case errors.Is(err, checkout.ErrUnknownRevision):
		return out, fmt.Errorf("%s is neither a folder nor a revision of this repository", name)
	}
	return out, fmt.Errorf("%s is not a folder, and looking for a revision of that name fails: %w", name, err)
}

// mayBeRevision reports whether a name may be that of a revision.
func mayBeRevision(name string) bool {
	return !strings.Contains(name, "..") && !strings.HasSuffix(name, ".") && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, "/")
}

// base returns the commit where the histories of two sides part.
func (s *Sides) base(ctx context.Context, a, b Side) (Side, error) {
	if a.Commit.IsZero() {
		return a, fmt.Errorf("%s... needs a revision of the repository at hand", a.Name)
	}
	head := b.Commit
	var err error
	if head.IsZero() {
		if head, err = s.repository.Resolve(ctx, "HEAD"); err != nil {
			return a, err
		}
	}
	if a.Commit, err = s.repository.Base(ctx, a.Commit, head); err != nil {
		return a, fmt.Errorf("%s and %s have no history in common", a.Name, b.Name)
	}
	return a, nil
}

// checkPaths refuses paths beside a folder, and paths outside of the repository beside a revision.
func (s *Sides) checkPaths() error {
	for _, side := range s.Each {
		if side.Folder != "" && len(s.Paths) > 0 {
			return command.Usagef("leave out the paths", "%s is a folder, and paths are for revisions", side.Folder)
		}
		if side.Commit.IsZero() {
			continue
		}
		for _, p := range s.Paths {
			if in := path.Join(s.prefix, filepath.ToSlash(p)); filepath.IsAbs(p) || !filepath.IsLocal(in) {
				return command.Usagef("name a path below it, relative to this folder", "%s is not in the repository", p)
			}
		}
	}
	return nil
}

// Files returns the files of a side that is a folder or a revision, from the path if that is the only one, and nil for
// another side. done must be called when they are read.
func (s *Sides) Files(side Side) (files fs.FS, done func(), err error) {
	switch {
	case side.Folder != "":
		return os.DirFS(side.Folder), func() {}, nil
	case side.Commit.IsZero():
		return nil, func() {}, nil
	}
	rd := checkout.Reader(s.repository)
	commit, err := rd.Commit(side.Commit)
	if err != nil {
		rd.Close()
		return nil, nil, err
	}
	files = rd.Files(commit.Tree)
	if len(s.Paths) == 1 && s.Paths[0] != "." {
		files, err = fs.Sub(files, path.Join(s.prefix, filepath.ToSlash(s.Paths[0])))
	}
	return files, rd.Close, err
}

// Present returns the paths that a side has. A side that is no revision has all.
func (s *Sides) Present(side Side) ([]string, error) {
	if side.Commit.IsZero() || len(s.Paths) == 0 {
		return s.Paths, nil
	}
	rd := checkout.Reader(s.repository)
	defer rd.Close()
	commit, err := rd.Commit(side.Commit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(s.Paths), func(p string) bool {
		_, err := rd.Lookup(commit.Tree, path.Join(s.prefix, filepath.ToSlash(p)))
		return errors.Is(err, object.ErrPathNotFound)
	}), nil
}

// Other returns the other side.
func (s *Sides) Other(side Side) Side {
	if s.Each[0] == side {
		return s.Each[1]
	}
	return s.Each[0]
}

// At makes the request one for a side. A folder is read in place of the paths of the source.
func (r *Request) At(side Side) {
	switch {
	case side.Folder != "":
		r.Paths, r.Only = []string{side.Folder}, true
	case !side.Commit.IsZero():
		r.Revision, r.RevisionName = side.Commit.String(), side.Name
	default:
		r.Revision = side.Name
	}
	r.Here = true
}
