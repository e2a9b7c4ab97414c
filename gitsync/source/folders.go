package source

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/signature"
)

// MaxFolders is the maximum number of folders that one forEach may match.
const MaxFolders = 10_000

// ListFolders returns the folders that the forEach pattern of a pipeline matches, at the current commit of its first
// source in r, and that commit. It does not list refs again that were listed after since. With keys, the commit must be
// signed with one of them, so that nobody else can create or stop pipelines.
func ListFolders(ctx context.Context, r *repo.Repo, p *pipeline.Pipeline, keys signature.Keyring,
	since time.Time) (found []string, commit plumbing.Hash, err error) {
	v, err := keys.Verifier()
	if err != nil {
		return nil, plumbing.ZeroHash, fmt.Errorf("sources[0].verify: %w", err)
	}
	tips, err := r.FetchSince(ctx, since, p.Spec.Sources[0].Ref.RepoRef())
	if err != nil {
		return nil, plumbing.ZeroHash, err
	}
	commit = tips[0].Commit
	if v != nil {
		if err := v.Accept(r, commit); err != nil {
			return nil, commit, err
		}
	}
	rd := r.Reader()
	defer rd.Close()
	at, err := rd.Commit(commit)
	if err != nil {
		return nil, commit, fmt.Errorf("read %s of %s: %w", commit, r.URL(), err)
	}
	if found, err = Folders(rd, at.Tree, p.Spec.ForEach); err != nil {
		return nil, commit, fmt.Errorf("%s: %w", r.URL(), err)
	}
	return found, commit, nil
}

// Folders returns the folders of a tree that a pattern of forEach matches, sorted. It matches segment by segment, like
// [path.Match], so it finds only folders at the depth of the pattern, and reads only the trees on the way there. As in
// a shell, only a segment that starts with a dot matches a name that starts with a dot.
func Folders(rd *object.Reader, tree plumbing.Hash, pattern string) ([]string, error) {
	var found []string
	err := folders(rd, tree, "", strings.Split(pattern, "/"), &found)
	slices.Sort(found)
	return found, err
}

func folders(rd *object.Reader, tree plumbing.Hash, parent string, segments []string, found *[]string) error {
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
