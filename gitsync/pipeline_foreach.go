package gitsync

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// MaxFolders bounds the folders that one forEach may match.
const MaxFolders = 10_000

// Folders lists the folders of a tree that a pattern of forEach matches, sorted. A pattern
// is matched segment by segment as [path.Match] does, so it lists only folders as deep as
// itself, and reads only the trees on the way there. A folder whose name starts with a dot
// is matched by a segment that starts with one only, as a shell does it.
func Folders(rd *repo.Reader, tree plumbing.Hash, pattern string) ([]string, error) {
	var found []string
	err := folders(rd, tree, "", strings.Split(pattern, "/"), &found)
	slices.Sort(found)
	return found, err
}

func folders(rd *repo.Reader, tree plumbing.Hash, parent string, segments []string, found *[]string) error {
	entries, err := rd.Tree(tree)
	if err != nil {
		return fmt.Errorf("list folder %q: %w", parent, err)
	}
	for _, e := range entries {
		if e.Mode != filemode.Dir || !matchesSegment(segments[0], e.Name) {
			continue
		}
		at := path.Join(parent, e.Name)
		if len(segments) > 1 {
			if err := folders(rd, e.Hash, at, segments[1:], found); err != nil {
				return err
			}
			continue
		}
		if len(*found) == MaxFolders {
			return fmt.Errorf("forEach matches more than %d folders", MaxFolders)
		}
		*found = append(*found, at)
	}
	return nil
}

func matchesSegment(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckFolder refuses a folder whose name could mean something else in a path: names come
// out of a repository, and go into branches and the names of files with credentials.
func CheckFolder(folder string) error {
	for segment := range strings.SplitSeq(folder, "/") {
		switch {
		case segment == "" || segment == "." || segment == "..":
			return errors.New("is not a folder's name")
		case !utf8.ValidString(segment) || strings.ContainsFunc(segment, func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }):
			return errors.New("has a name with characters that cannot be printed, or a backslash")
		}
	}
	return nil
}

// forEach checks a pattern. What it makes of the pipeline's fields is not looked at here:
// they still are templates.
func (v *validator) forEach(pattern string) {
	if pattern == "" {
		return
	}
	const at = "spec.forEach"
	_, err := path.Match(pattern, "")
	v.check(err == nil, at, "", "is not a pattern: a bracket is not closed, or a backslash ends it")
	v.check(!strings.Contains(pattern, "**"), at, "write one * for each level, such as clusters/*/*", "must not hold **")
	v.check(strings.ContainsAny(pattern, "*?["), at, "write it like clusters/*, or leave out forEach", "matches one folder only")
	v.check(path.Clean(pattern) == pattern && pattern != ".", at, "write it like clusters/*", "must be a clean path, relative to the repository's root")
	v.repositoryPath(at, pattern)
}
