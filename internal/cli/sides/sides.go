// Package sides finds out what the two things are that agentry diff compares: folders, or revisions of the repository
// at hand.
package sides

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

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/outdir"
	"github.com/agentry-dev/agentry/internal/revision"
)

// Parse returns the two sides to compare. The same paths with other options are another side.
func Parse(ctx context.Context, args []string, twoOptions bool) (sides [2]*Side, err error) {
	if len(args) == 2 {
		if sides, err := newPair(ctx, args[0], args[1], nil, false); err == nil {
			return sides, nil
		}
	}
	var tried error
	if len(args) > 0 {
		for at := 0; at < len(args[0]); at++ {
			rest, found := strings.CutPrefix(args[0][at:], "..")
			if !found {
				continue
			}
			fromBase := strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "./") &&
				!strings.HasPrefix(rest, "../")
			if fromBase {
				rest = rest[1:]
			}
			sides, err = newPair(ctx, args[0][:at], rest, args[1:], fromBase)
			if err == nil {
				return sides, nil
			}
			tried = err // the last one splits the longest name on the left
		}
	}
	if twoOptions && tried == nil {
		return newPair(ctx, "", "", args, false)
	}
	if tried != nil {
		return sides, command.Usagef("name folders, or revisions as git knows them", "%v", tried)
	}
	problem := "nothing to compare is given"
	switch {
	case len(args) > 2:
		problem = fmt.Sprintf("two things are compared, but %d are given", len(args))
	case len(args) > 0:
		problem = args[0] + " names one thing, and two are compared"
	}
	return sides, command.Usagef("write it like main..HEAD, main.. or old..new", "%s", problem)
}

// newPair returns two sides by their names.
func newPair(ctx context.Context, a, b string, paths []string, fromBase bool) (sides [2]*Side, err error) {
	for i, name := range [...]string{a, b} {
		if sides[i], err = New(ctx, name, paths); err != nil {
			return sides, err
		}
	}
	if !fromBase {
		return sides, nil
	}
	return sides, sides[0].moveToBase(ctx, sides[1])
}

// Side is one of the two things that are compared: paths on disk, or in a commit.
type Side struct {
	Name   string // as it was typed
	Paths  []string
	commit string // empty: the paths are on disk
	repo   *revision.Repository
	folder string // has the files of the commit, while they are read
}

// New finds what a name means: a folder, else a revision. No name is the working tree.
func New(ctx context.Context, name string, paths []string) (*Side, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	} else if _, err := os.Stat(name); name != "" && err == nil {
		return nil, fmt.Errorf("%s is a folder, and paths are for revisions", name)
	}
	if name == "" {
		return &Side{Name: "working tree", Paths: paths}, nil
	}
	if _, err := os.Stat(name); err == nil {
		return &Side{Name: name, Paths: []string{name}}, nil
	}
	repo, err := revision.Open(ctx)
	if errors.Is(err, revision.ErrNoRepository) {
		return nil, fmt.Errorf("%s is neither a folder nor a revision: this folder is not in a Git repository", name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is neither a folder nor a revision: %w", name, err)
	}
	commit, err := repo.Resolve(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a folder nor a revision of this repository", name)
	}
	return &Side{Name: name, Paths: paths, commit: commit, repo: repo}, nil
}

// moveToBase makes the side the commit where its history and the other side's part.
func (s *Side) moveToBase(ctx context.Context, other *Side) (err error) {
	head := other.commit
	if s.commit == "" {
		return fmt.Errorf("%s... needs a revision", s.Name)
	}
	if head == "" {
		head = "HEAD"
	}
	if s.commit, err = s.repo.Base(ctx, s.commit, head); err != nil {
		return fmt.Errorf("%s and %s have no history in common", s.Name, other.Name)
	}
	return nil
}

// Files returns the paths of the side on disk: the files of a commit are in a folder that done removes. Paths that the
// commit does not have are left out.
func (s *Side) Files(ctx context.Context) (paths []string, done func(), err error) {
	done = func() {}
	if s.commit == "" {
		return s.Paths, done, nil
	}
	if s.folder, err = s.repo.Extract(ctx, s.commit); err != nil {
		return nil, done, err
	}
	done = func() { _ = os.RemoveAll(s.folder) } // if this fails, the folder stays among the system's temporary ones
	if paths, err = s.within(s.folder); err != nil {
		done()
		return nil, done, err
	}
	return slices.DeleteFunc(paths, func(p string) bool {
		_, err := os.Stat(p)
		return errors.Is(err, fs.ErrNotExist) // render reports a commit that has none of the paths
	}), done, nil
}

// Show returns the name of a file as people know it: that in the commit.
func (s *Side) Show(file string) string {
	// a file outside all PATHs is shown relative to the current folder
	at, err := filepath.Abs(filepath.FromSlash(file))
	if rest, noRel := filepath.Rel(s.folder, at); s.folder != "" && err == nil && noRel == nil &&
		filepath.IsLocal(rest) {
		return s.Name + ":" + filepath.ToSlash(rest)
	}
	return file
}

// within returns the paths in the folder that has the files of the commit. For an output branch, the path . is its top,
// whatever the current folder is.
func (s *Side) within(folder string) ([]string, error) {
	if slices.Equal(s.Paths, []string{"."}) && outdir.Is(folder) {
		return []string{folder}, nil
	}
	var out []string
	for _, p := range s.Paths {
		name := path.Join(s.repo.Prefix, filepath.ToSlash(p))
		if filepath.IsAbs(p) || !filepath.IsLocal(name) {
			return nil, command.Usagef("name a path below it, relative to this folder", "%s is not in the repository",
				p)
		}
		out = append(out, filepath.Join(folder, filepath.FromSlash(name)))
	}
	return out, nil
}

// Names returns the two names in A..B for a pipeline: revisions of its sources, or folders with rendered output. An
// empty name stands for the revision that the pipeline reads.
func Names(arg string) (names [2]string, err error) {
	for at := range arg {
		b, found := strings.CutPrefix(arg[at:], "..")
		if a := arg[:at]; found && mayBeNamed(a) && mayBeNamed(b) {
			return [2]string{a, b}, nil
		}
	}
	const hint = "write it like main..topic, main.. or before.."
	switch {
	case strings.Contains(arg, "..."):
		return names, command.Usagef(strings.Replace(arg, "...", "..", 1)+" compares the two as they are",
			"%s: with -f there is no checkout in which to look where two histories part", arg)
	case strings.Contains(arg, ".."):
		return names, command.Usagef(hint, "%s names no two revisions", arg)
	}
	return names, command.Usagef(hint+"; without it, -f compares with the output branch",
		"%s names one thing, and two are compared", arg)
}

// mayBeNamed reports whether a name is empty, names a folder with rendered output, or may name a revision.
func mayBeNamed(name string) bool {
	if name == "" || outdir.Is(name) {
		return true
	}
	return !strings.Contains(name, "..") && !strings.HasSuffix(name, ".") && !strings.HasPrefix(name, ".") &&
		!strings.HasPrefix(name, "/")
}
