package repo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

func edits(files map[string]string) map[string]object.Edit {
	out := map[string]object.Edit{}
	for name, text := range files {
		out[name] = object.Edit{Data: []byte(text), Remove: text == ""}
	}
	return out
}

// offline returns a Writer on a repository with one commit of these files.
func offline(t testing.TB, g *gittest.Repo) (*object.Reader, *object.Writer, plumbing.Hash) {
	t.Helper()
	s := start(t, transport.Remote{URL: g.Dir})
	c, err := s.rd.Commit(s.tip.Commit)
	if err != nil {
		t.Fatal(err)
	}
	return s.rd, s.w, c.Tree
}

// list returns the paths of a tree of the Writer, with mode and hash.
func list(t testing.TB, w *object.Writer, tree plumbing.Hash) []string {
	t.Helper()
	var out []string
	var walk func(prefix string, tree plumbing.Hash)
	walk = func(prefix string, tree plumbing.Hash) {
		entries, err := w.Tree(tree)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Mode == filemode.Dir {
				walk(prefix+e.Name+"/", e.Hash)
				continue
			}
			out = append(out, prefix+e.Name)
		}
	}
	walk("", tree)
	return out
}

func TestEditTree(t *testing.T) {
	t.Parallel()
	base := map[string]string{"a.yaml": "a", "d/b.yaml": "b", "d/e/c.yaml": "c", "x": "x"}
	for name, tc := range map[string]struct {
		edits map[string]string // empty: removal
		want  []string          // nil: equal to base
		err   string
	}{
		"nothing":                      {},
		"what is there already":        {edits: map[string]string{"a.yaml": "a"}},
		"removal of what is not there": {edits: map[string]string{"n/o/p": "", "a.yaml/x": ""}},
		"a new file": {edits: map[string]string{"n/o": "1"},
			want: []string{"a.yaml", "d/b.yaml", "d/e/c.yaml", "n/o", "x"}},
		"removal of the last file of a folder": {edits: map[string]string{"d/e/c.yaml": ""},
			want: []string{"a.yaml", "d/b.yaml", "x"}},
		"removal of all files of two folders": {edits: map[string]string{"d/e/c.yaml": "", "d/b.yaml": ""},
			want: []string{"a.yaml", "x"}},
		"removal of all": {edits: map[string]string{"a.yaml": "", "d/e/c.yaml": "",
			"d/b.yaml": "", "x": ""}, want: []string{}},
		"a file makes room for a folder": {edits: map[string]string{"x": "", "x/y": "1"},
			want: []string{"a.yaml", "d/b.yaml", "d/e/c.yaml", "x/y"}},
		"a folder makes room for a file": {edits: map[string]string{"d/e/c.yaml": "", "d/e": "1"},
			want: []string{"a.yaml", "d/b.yaml", "d/e", "x"}},
		"a file where a folder is": {edits: map[string]string{"d": "1"}, err: "edit d: is a directory"},
		"removal of a folder":      {edits: map[string]string{"d/e": ""}, err: "edit d/e: is a directory"},
		"a file below a file":      {edits: map[string]string{"x/y": "1"}, err: "edit below x: is a file"},
		"a file and a file below it": {edits: map[string]string{"n": "1", "n/m": "1"},
			err: "edit n: is a directory"},
		"an absolute path": {edits: map[string]string{"/a": "1"},
			err: "is not allowed in Git"},
		"a way out": {edits: map[string]string{"../a": "1"},
			err: "is not allowed in Git"},
		"git's own folder": {edits: map[string]string{"d/.GIT/config": "1"},
			err: "is not allowed in Git"},
		"a slash at the end": {edits: map[string]string{"d/": "1"},
			err: "is not allowed in Git"},
		"names between a file's and a folder's": {edits: map[string]string{"d.yaml": "1", "d-x": "1", "d0": "1"},
			want: []string{"a.yaml", "d-x", "d.yaml", "d/b.yaml", "d/e/c.yaml", "d0", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gittest.NewRepo(t)
			g.Commit("main", base)
			_, w, tree := offline(t, g)
			got, err := w.EditTree(tree, edits(tc.edits))
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == nil {
				if got != tree {
					t.Errorf("the tree has changed: %v", list(t, w, got))
				}
				return
			}
			if diff := cmp.Diff(tc.want, append([]string{}, list(t, w, got)...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The oracle is the tree that git makes of the same files.
func TestEditTreeMakesGitsTrees(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	g := gittest.NewRepo(t)
	state := map[string]string{"keep": "k"}
	for range 12 {
		state[randomPath(rng)] = fmt.Sprint(rng.IntN(100))
	}
	g.Commit("main", withoutNesting(state))
	for round := range 12 {
		s := start(t, transport.Remote{URL: g.Dir})
		c, err := s.rd.Commit(s.tip.Commit)
		if err != nil {
			t.Fatal(err)
		}
		old := files(t, s.rd, s.tip.Commit)
		next := maps.Clone(old)
		for range 5 {
			next[randomPath(rng)] = fmt.Sprint(rng.IntN(100))
			for name := range old {
				if name != "keep" && rng.IntN(8) == 0 {
					delete(next, name)
				}
			}
		}
		next = withoutNesting(next)
		change := map[string]object.Edit{}
		for name := range old {
			if next[name] == "" {
				change[name] = object.Edit{Remove: true}
			}
		}
		for name, text := range next {
			change[name] = object.Edit{Data: []byte(text)}
		}
		tree, err := s.w.EditTree(c.Tree, change)
		if err != nil {
			t.Fatal(err)
		}
		branch := fmt.Sprint("oracle", round)
		if want := g.Git("rev-parse", g.Commit(branch, next)+"^{tree}"); tree.String() != want {
			t.Fatalf("round %d: got tree %s, git makes %s of %v", round, tree, want, next)
		}
		commit, err := s.w.Commit(object.CommitOptions{
			Tree: tree, Parents: []plumbing.Hash{s.tip.Commit}, Author: ann(), Committer: ann(), Message: "round\n",
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}); err != nil {
			t.Fatal(err)
		}
		checkDiff(t, s, c.Tree, tree, old, next)
	}
	g.Fsck()
}

// checkDiff compares DiffTrees with the difference of two maps of files.
func checkDiff(t *testing.T, s *session, from, to plumbing.Hash, old, next map[string]string) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for name := range maps.Collect(joined(maps.All(old), maps.All(next))) {
		if old[name] != next[name] {
			want[name] = old[name] + " -> " + next[name]
		}
	}
	text := func(e object.Entry) string {
		if e == (object.Entry{}) {
			return ""
		}
		data, err := s.rd.Blob(e.Hash, 0)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var order []string
	err := object.DiffTrees(s.rd, from, to, object.WalkOptions{}, func(c object.Change) error {
		got[c.Path] = text(c.Old) + " -> " + text(c.New)
		order = append(order, c.Path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSorted(order) {
		t.Errorf("the order is %q", order)
	}
}

func joined(seqs ...func(func(string, string) bool)) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for _, seq := range seqs {
			for k, v := range seq {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

func randomPath(rng *rand.Rand) string {
	parts := []string{"a", "a.b", "a-b", "a0", "b"}
	name := parts[rng.IntN(len(parts))]
	for range rng.IntN(3) {
		name += "/" + parts[rng.IntN(len(parts))]
	}
	return name
}

// withoutNesting drops files that are below other files.
func withoutNesting(files map[string]string) map[string]string {
	out := maps.Clone(files)
	for name := range files {
		for i := range name {
			if name[i] == '/' && files[name[:i]] != "" {
				delete(out, name)
			}
		}
	}
	return out
}

func TestEntriesOfOthersAreKept(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	link := g.GitIn("target", "hash-object", "-w", "--stdin")
	tree := g.GitIn(fmt.Sprintf("120000 blob %s\tlink\n100755 blob %s\trun.sh\n160000 commit %s\tsub\n", link, link,
		strings.Repeat("12", 20)), "mktree", "--missing")
	g.Git("update-ref", mainRef, g.Git("commit-tree", "-m", "odd", tree))
	s := start(t, transport.Remote{URL: g.Dir})
	commit := commitOn(t, s.w, s.rd, s.tip, map[string]object.Edit{"new.sh": {Data: []byte("x")}})
	if err := s.Push(testContext(t), s.w, repo.Update{Ref: mainRef, Old: s.tip.Commit, New: commit}); err != nil {
		t.Fatal(err)
	}
	var modes []string
	for line := range strings.Lines(g.Git("ls-tree", "main")) {
		modes = append(modes, strings.Fields(line)[0]+" "+strings.Fields(line)[3])
	}
	if diff := cmp.Diff([]string{"120000 link", "100644 new.sh", "100755 run.sh", "160000 sub"}, modes); diff != "" {
		t.Error(diff)
	}
	c, err := s.rd.Commit(s.tip.Commit)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]filemode.FileMode{}
	err = object.Walk(s.rd, c.Tree, object.WalkOptions{}, func(name string, e object.Entry) error {
		got[name] = e.Mode
		return nil
	})
	want := map[string]filemode.FileMode{"link": filemode.Symlink, "run.sh": filemode.Executable,
		"sub": filemode.Submodule}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWalkKeepsItsLimits(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a/b/c/f": "1", "a/g": "2", "h": "3"})
	rd, _, tree := offline(t, g)
	for name, tc := range map[string]struct {
		opts object.WalkOptions
		want []string
		err  error
	}{
		"all":               {object.WalkOptions{MaxFiles: 3, MaxDepth: 3}, []string{"a/b/c/f", "a/g", "h"}, nil},
		"one file too many": {object.WalkOptions{MaxFiles: 2}, []string{"a/b/c/f", "a/g"}, limit.ErrTooLarge},
		"too deep":          {object.WalkOptions{MaxDepth: 2}, nil, limit.ErrTooLarge},
		"below a folder":    {object.WalkOptions{Prefix: "a/b"}, []string{"a/b/c/f"}, nil},
		"slashes around":    {object.WalkOptions{Prefix: "/a/b/"}, []string{"a/b/c/f"}, nil},
		"a file":            {object.WalkOptions{Prefix: "a/g"}, []string{"a/g"}, nil},
		"below a file":      {object.WalkOptions{Prefix: "a/g/x"}, nil, nil},
		"nowhere":           {object.WalkOptions{Prefix: "z"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := object.Walk(rd, tree, tc.opts, func(name string, _ object.Entry) error {
				got = append(got, name)
				return nil
			})
			if tc.err != nil {
				wantError(t, err, tc.err)
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCommitsAreChecked(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a": "1"})
	_, w, tree := offline(t, g)
	good := object.CommitOptions{Tree: tree, Author: ann(), Committer: ann(), Message: "m\n"}
	for name, change := range map[string]func(*object.CommitOptions){
		"no author":           func(o *object.CommitOptions) { o.Author.Name = "" },
		"no date":             func(o *object.CommitOptions) { o.Committer = object.Signature{Name: "a", Email: "b"} },
		"a header in a name":  func(o *object.CommitOptions) { o.Author.Name = "a\nparent 12" },
		"a bracket in a mail": func(o *object.CommitOptions) { o.Committer.Email = "a>b" },
		"a zero byte":         func(o *object.CommitOptions) { o.Message = "a\x00b" },
	} {
		opts := good
		change(&opts)
		if _, err := w.Commit(opts); err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
	// git reads the signature's header as a signature.
	good.Sign = func([]byte) (string, error) {
		return "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n", nil
	}
	commit, err := w.Commit(good)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, transport.Remote{URL: g.Dir}, repo.Options{})
	if err := pusher(t, r, transport.Auth{}).Push(testContext(t), w,
		repo.Update{Ref: "refs/heads/signed", New: commit}); err != nil {
		t.Fatal(err)
	}
	g.Fsck()
	if got := g.Git("log", "-1", "--format=%an %ae %at %s", "signed"); got != "Ann ann@example.com 1700000000 m" {
		t.Errorf("git reads %q", got)
	}
}

func TestNotesKeepTheirDirectories(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	g.Commit("main", map[string]string{"a": "1"})
	_, w, _ := offline(t, g)
	commit := plumbing.NewHash("abcdef" + strings.Repeat("12", 17))
	rest := strings.Repeat("12", 17)
	for name, tc := range map[string]struct {
		before map[string]string
		want   []string
	}{
		"the first note": {nil, []string{"abcdef" + rest}},
		"beside others": {map[string]string{"ff" + strings.Repeat("0", 38): "o"},
			[]string{"abcdef" + rest, "ff" + strings.Repeat("0", 38)}},
		"in a directory": {map[string]string{"ab/00" + strings.Repeat("0", 36): "o"},
			[]string{"ab/00" + strings.Repeat("0", 36), "ab/cdef" + rest}},
		"in two directories": {map[string]string{"ab/cd/00" + strings.Repeat("0", 34): "o"},
			[]string{"ab/cd/00" + strings.Repeat("0", 34), "ab/cd/ef" + rest}},
		"in place of an old one": {map[string]string{"ab/cdef" + rest: "old"}, []string{"ab/cdef" + rest}},
		"beside a file":          {map[string]string{"ab": "odd"}, []string{"ab", "abcdef" + rest}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := plumbing.ZeroHash
			if tc.before != nil {
				var err error
				if notes, err = w.EditTree(plumbing.ZeroHash, edits(tc.before)); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := w.AddNote(notes, commit, []byte("new"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, list(t, w, tree)); diff != "" {
				t.Error(diff)
			}
			again, err := w.AddNote(tree, commit, []byte("new"))
			if err != nil || again != tree {
				t.Errorf("the same note again makes %s of %s, %v", again, tree, err)
			}
		})
	}
}
