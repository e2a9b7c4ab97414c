package source

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
	"github.com/agentry-dev/agentry/test/gittest"
)

// visible returns the files of a source: their blobs, or that they are unreadable.
func visible(in *Input) map[string]string {
	out := map[string]string{}
	for name, f := range in.Files {
		out[name] = f.Blob.String()
		if f.Result.Broken > 0 {
			out[name] = "broken"
		}
	}
	return out
}

// oracle returns the files that Flux would see, by Flux's method: all patterns of the repository in one list.
func oracle(files map[string]string, paths []string) []string {
	var patterns []gitignore.Pattern
	folders := slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if path.Base(name) == sourceignore.FileName && !yield(path.Dir(name)) {
				return
			}
		}
	})
	slices.SortStableFunc(folders, func(a, b string) int { return depth(a) - depth(b) })
	for _, folder := range folders {
		var domain []string
		if folder != "." {
			domain = strings.Split(folder, "/")
		}
		for line := range strings.SplitSeq(strings.TrimPrefix(files[path.Join(folder, sourceignore.FileName)], "!!"),
			"\n") {
			if !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "" {
				patterns = append(patterns, gitignore.ParsePattern(line, domain))
			}
		}
	}
	matcher := gitignore.NewMatcher(patterns)
	var out []string
	for name := range files {
		below := slices.ContainsFunc(paths, func(p string) bool { return pipeline.Within(p, name) })
		if below && path.Ext(name) == ".yaml" && !matcher.Match(strings.Split(name, "/"), false) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return 1 + strings.Count(folder, "/")
}

// ignoreHistory is a random history of a repository with .sourceignore files.
type ignoreHistory struct {
	rand  *rand.Rand
	repo  *gittest.Repo
	files map[string]string
}

func (h *ignoreHistory) step() string {
	pick := func(list ...string) string { return list[h.rand.IntN(len(list))] }
	changes := map[string]string{}
	for range 1 + h.rand.IntN(3) {
		name := path.Join(pick(".", "in", "in/a", "in/a/b", "in/c", "other"),
			pick("x.yaml", "y.yaml", sourceignore.FileName, sourceignore.FileName))
		var text string
		switch {
		case h.files[name] != "" && h.rand.IntN(3) == 0: // goes
		case path.Base(name) == sourceignore.FileName:
			for range 1 + h.rand.IntN(3) {
				text += pick("*.yaml", "x.yaml", "!x.yaml", "/in/a", "a/", "!a/b", "/*", "!/in", "**/b/*.yaml",
					"# nothing", "", "b", "!y.yaml ", "in/**/y.yaml", "/x.yaml") + "\n"
			}
			text = "#\n" + text
		default:
			text = fmt.Sprintf("# %d\n", h.rand.IntN(4))
		}
		changes[name] = text
		h.files[name] = text
		if text == "" {
			delete(h.files, name)
		}
	}
	return h.repo.Commit("main", changes)
}

// TestIncrementalReadsEqualFullReads: however .sourceignore files are added, changed and removed, and whatever the
// paths in the pipeline, an update from the last tree has the same result as a first read, and as Flux. The differences
// between any two trees turn the files of one into the files of the other.
func TestIncrementalReadsEqualFullReads(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		h := &ignoreHistory{rand: rand.New(rand.NewPCG(seed, 1)), repo: gittest.NewRepo(t), files: map[string]string{}}
		r, err := repo.Open(t.TempDir(), transport.Remote{URL: h.repo.Dir}, repo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		var sources []*Source
		for _, paths := range [][]string{{"."}, {"in"}, {"in/a", "in/c", "in/a/b"}, {"in/a/x.yaml", "other"}} {
			sources = append(sources, &Source{Source: pipeline.Source{Paths: paths}, Repo: r})
		}
		var trees []plumbing.Hash
		for range 20 {
			h.step()
			tree := head(t, r)
			for _, s := range sources {
				checkUpdate(t, h, s, tree)
				for _, older := range trees[max(0, len(trees)-3):] {
					checkDiff(t, s, older, tree)
				}
				if t.Failed() {
					t.Fatalf("seed %d, paths %v, files %q", seed, s.Paths, h.files)
				}
			}
			trees = append(trees, tree)
		}
	}
}

func head(t *testing.T, r *repo.Repo) plumbing.Hash {
	t.Helper()
	tips, err := r.Fetch(context.Background(), repo.Ref{})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := (&Source{Repo: r}).commit(tips[0].Commit)
	if err != nil {
		t.Fatal(err)
	}
	return commit.Tree
}

func checkUpdate(t *testing.T, h *ignoreHistory, s *Source, tree plumbing.Hash) {
	t.Helper()
	if err := s.Update(s.Repo.Budget().Pass(t.Context()), trees{own: tree}, manifest.Options{}); err != nil {
		t.Fatal(err)
	}
	fresh := &Source{Source: s.Source, Repo: s.Repo}
	if err := fresh.Update(s.Repo.Budget().Pass(t.Context()), trees{own: tree}, manifest.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(visible(&fresh.Input), visible(&s.Input)); diff != "" {
		t.Errorf("by steps (+) and at once (-):\n%s", diff)
	}
	if diff := cmp.Diff(oracle(h.files, s.Paths), slices.Sorted(maps.Keys(fresh.Input.Files)),
		cmp.Transformer("nil", func(l []string) []string {
			return append([]string{}, l...)
		})); diff != "" {
		t.Errorf("Flux (-) and we (+):\n%s", diff)
	}
}

// checkDiff checks the differences between two trees, like those between the base of a source and its head.
func checkDiff(t *testing.T, s *Source, from, to plumbing.Hash) {
	t.Helper()
	old, next := &Source{Source: s.Source, Repo: s.Repo}, &Source{Source: s.Source, Repo: s.Repo}
	for side, tree := range map[*Source]plumbing.Hash{old: from, next: to} {
		if err := side.Update(s.Repo.Budget().Pass(t.Context()), trees{own: tree}, manifest.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := s.diff(s.Repo.Budget().Pass(t.Context()), trees{own: from}, trees{own: to}, nil, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := visible(&old.Input)
	for _, c := range d.changes {
		if want := got[c.Path]; want != "" && want != c.Old.Hash.String() || want == "" && c.Old != (object.Entry{}) {
			t.Errorf("%s was %q and is said to have been %v", c.Path, want, c.Old)
		}
		got[c.Path] = c.New.Hash.String()
		if c.New == (object.Entry{}) {
			delete(got, c.Path)
		}
	}
	if diff := cmp.Diff(visible(&next.Input), got); diff != "" {
		t.Errorf("the differences lead elsewhere (-want +got):\n%s", diff)
	}
}
