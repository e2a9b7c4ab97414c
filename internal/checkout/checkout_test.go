package checkout

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// git runs git in a folder and returns its output.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"},
		args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	at := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines returns the files of a tree as git ls-tree -r prints them: mode, kind, hash, path.
func lines(t *testing.T, rd *object.Reader, tree plumbing.Hash, folder string) (out []string) {
	t.Helper()
	entries, err := rd.Tree(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, kind := path.Join(folder, e.Name), "blob"
		if e.Mode == filemode.Dir {
			out = append(out, lines(t, rd, e.Hash, name)...)
			continue
		}
		hash := e.Hash.String()
		if e.Mode == filemode.Submodule {
			kind, hash = "commit", "x"
		}
		out = append(out, fmt.Sprintf("%06o %s %s\t%s", uint32(e.Mode), kind, hash, name))
	}
	return out
}

// opened opens a folder until the test ends, and returns the tree of its commit.
func opened(t *testing.T, top string, opts FolderOptions) (*Folder, *object.Reader, plumbing.Hash) {
	t.Helper()
	f, err := OpenFolder(top, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	rd := Reader(f)
	t.Cleanup(rd.Close)
	commit, err := rd.Commit(f.ID())
	if err != nil {
		t.Fatal(err)
	}
	return f, rd, commit.Tree
}

// listed returns what a folder has as the tree of a commit.
func listed(t *testing.T, top string, opts FolderOptions) []string {
	t.Helper()
	f, rd, tree := opened(t, top, opts)
	out := lines(t, rd, tree, "")
	if found := f.Problems(); len(found) > 0 {
		t.Errorf("problems: %v", found)
	}
	return out
}

// TestAFolderIsWhatGitWouldAdd compares random work trees with what git add -A makes of them: the same files, modes and
// hashes, whatever is ignored, tracked in spite of that, changed since, or linked.
func TestAFolderIsWhatGitWouldAdd(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		top := t.TempDir()
		git(t, top, "init", "-q")
		randomFiles(t, r, top)
		if seed%2 == 0 { // what is committed, and tracked although it is ignored
			git(t, top, "add", "-A")
			git(t, top, "add", "-f", ".")
			git(t, top, "commit", "-q", "--allow-empty", "-m", "one")
			time.Sleep(time.Duration(r.IntN(12)) * time.Millisecond) // the index is as old as its files, or newer
			randomFiles(t, r, top)
		}
		got := listed(t, top, FolderOptions{Exact: true})
		git(t, top, "add", "-A")
		want := strings.Split(git(t, top, "ls-tree", "-r", git(t, top, "write-tree")), "\n")
		if len(want) == 1 && want[0] == "" {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("seed %d: -git +folder:\n%s", seed, diff)
		}
	}
}

// randomFiles makes or replaces files, links and .gitignore files.
func randomFiles(t *testing.T, r *rand.Rand, top string) {
	t.Helper()
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	name := func() string {
		parts := []string{}
		for range r.IntN(3) {
			parts = append(parts, pick("a", "b", "build", "x.d"))
		}
		return path.Join(append(parts, pick("a.yaml", "b.yaml", "c.json", "log", "a b.txt"))...)
	}
	for range 12 {
		at := name()
		switch {
		case r.IntN(4) == 0:
			at = path.Join(path.Dir(at), ".gitignore")
			text := ""
			for range r.IntN(4) {
				text += pick("", "!", "/") + pick("a.yaml", "b*", "build/", "*.json", "a/**", "# no", "x.d/a", "log",
					"**/b.yaml") + "\n"
			}
			write(t, top, at, text)
		case r.IntN(6) == 0:
			_ = os.MkdirAll(filepath.Join(top, path.Dir(at)), 0o755)
			_ = os.Remove(filepath.Join(top, at))
			_ = os.Symlink(pick("a.yaml", "..", "/etc/passwd", "nowhere"), filepath.Join(top, at))
		default:
			if info, err := os.Lstat(filepath.Join(top, at)); err == nil && info.Mode()&os.ModeSymlink != 0 {
				continue
			}
			write(t, top, at, pick("one\n", "two\n", "three\n"))
			if r.IntN(5) == 0 {
				_ = os.Chmod(filepath.Join(top, at), 0o755)
			}
		}
	}
}

func TestWhatAFolderLeavesOut(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q")
	for name, text := range map[string]string{
		".gitignore": "out\n*.local.yaml\n", "a.yaml": "a", "a.local.yaml": "b", "out/x.yaml": "x",
		"out/y.local.yaml": "y", "deep/out/z.yaml": "z", "written/f.yaml": "f",
	} {
		write(t, top, name, text)
	}
	git(t, top, "init", "-q", "sub")
	write(t, top, "sub/s.yaml", "s")
	names := func(opts FolderOptions) (out []string) {
		for _, line := range listed(t, top, opts) {
			_, name, _ := strings.Cut(line, "\t")
			out = append(out, name)
		}
		return out
	}
	for _, c := range []struct {
		about string
		opts  FolderOptions
		want  string
	}{
		{"ignored files", FolderOptions{}, ".gitignore a.yaml sub written/f.yaml"},
		{"a named file", FolderOptions{Named: []string{"a.local.yaml"}},
			".gitignore a.local.yaml a.yaml sub written/f.yaml"},
		{"a named folder, with its own rules from there", FolderOptions{Named: []string{"out"}},
			".gitignore a.yaml out/x.yaml out/y.local.yaml sub written/f.yaml"},
		{"a file in an ignored folder", FolderOptions{Named: []string{"deep/out/z.yaml"}},
			".gitignore a.yaml deep/out/z.yaml sub written/f.yaml"},
		{"a folder that is skipped", FolderOptions{Skip: func(folder string) bool {
			return filepath.Base(folder) == "written"
		}}, ".gitignore a.yaml sub"},
	} {
		if got := strings.Join(names(c.opts), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.about, got, c.want)
		}
	}
}

// TestWhatGitTracksIsNotSkipped: a file that looks like the mark of a render must not hide what is in commits.
func TestWhatGitTracksIsNotSkipped(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q")
	for _, name := range []string{"added/a.yaml", "committed/a.yaml", "new/a.yaml"} {
		write(t, top, name, "a")
	}
	git(t, top, "add", "committed")
	git(t, top, "commit", "-q", "-m", "one")
	git(t, top, "add", "added")
	all := func(string) bool { return true }
	f, rd, tree := opened(t, top, FolderOptions{Skip: all})
	var names []string
	for _, line := range lines(t, rd, tree, "") {
		_, name, _ := strings.Cut(line, "\t")
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "added/a.yaml committed/a.yaml" {
		t.Error(got)
	}
	if got := f.Untracked(); !slices.Equal(got, []string{"new"}) {
		t.Error(got)
	}
}

// TestAFolderIsTheCommitWithItsFiles: an empty folder, and what Git ignores, make no difference.
func TestAFolderIsTheCommitWithItsFiles(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q")
	write(t, top, ".gitignore", "*.log\n")
	write(t, top, "a/b.yaml", "b")
	git(t, top, "add", ".")
	git(t, top, "commit", "-q", "-m", "one")
	write(t, top, "logs/x.log", "x")
	head := plumbing.NewHash(git(t, top, "rev-parse", "HEAD"))
	isHead := func() bool {
		r := OpenRepository(top)
		defer r.Close()
		rd := Reader(r)
		defer rd.Close()
		commit, err := rd.Commit(head)
		if err != nil {
			t.Fatal(err)
		}
		f, _, _ := opened(t, top, FolderOptions{Exact: true})
		if err := f.StandFor(commit, rd); err != nil {
			t.Fatal(err)
		}
		if f.IsDraft() == (f.ID() == head) {
			t.Errorf("%s: draft %t", f.ID(), f.IsDraft())
		}
		return !f.IsDraft()
	}
	if !isHead() {
		t.Error("the files of the commit are a draft")
	}
	write(t, top, "a/b.yaml", "c")
	if isHead() {
		t.Error("a changed file is in the commit")
	}
	git(t, top, "checkout", "-q", ".")
	write(t, top, "a/c.yaml", "c")
	if isHead() {
		t.Error("a new file is in the commit")
	}
}

// TestAFolderThatCannotBeRead: what cannot be read is a problem, and the rest is read.
func TestAFolderThatCannotBeRead(t *testing.T) {
	top := t.TempDir()
	write(t, top, "a.yaml", "a")
	write(t, top, "b.yaml", "b")
	f, rd, tree := opened(t, top, FolderOptions{})
	entries, err := rd.Tree(tree)
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	if err := os.Remove(filepath.Join(top, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if text, err := rd.Blob(entries[0].Hash, 100); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
	if found := f.Problems(); len(found) != 1 || found[0].File != "a.yaml" ||
		found[0].Message != "cannot be read: no such file or directory" {
		t.Errorf("%v", found)
	}
	write(t, top, "b.yaml", strings.Repeat("b", 200)) // it has grown since it was listed
	if text, err := rd.Blob(entries[1].Hash, 1000); err != nil || len(text) != 200 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := rd.Blob(entries[1].Hash, 100); !errors.Is(err, limit.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

// TestARepositoryIsReadAsItIs compares the objects of a repository with what git prints of them.
func TestARepositoryIsReadAsItIs(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q", "-b", "main")
	write(t, top, "a/b.yaml", "one\n")
	git(t, top, "add", ".")
	git(t, top, "commit", "-q", "-m", "one")
	git(t, top, "checkout", "-q", "-b", "topic")
	write(t, top, "a/b.yaml", "two\n")
	git(t, top, "commit", "-q", "-a", "-m", "two")
	git(t, top, "checkout", "-q", "main")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "three")
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, top, "worktree", "add", "-q", "-b", "other", linked, "topic")
	for _, at := range []string{top, linked} {
		r := OpenRepository(at)
		defer r.Close()
		topic, err := r.Resolve(t.Context(), "topic")
		if err != nil || topic.String() != git(t, top, "rev-parse", "topic") {
			t.Fatal(topic, err)
		}
		main, err := r.Resolve(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		base, err := r.Base(t.Context(), main, topic)
		if err != nil || base.String() != git(t, top, "rev-parse", "main~1") {
			t.Errorf("%s, %v", base, err)
		}
		if _, err := r.Resolve(t.Context(), "nowhere"); err == nil {
			t.Error("nowhere is a revision")
		}
		rd := Reader(r)
		defer rd.Close()
		commit, err := rd.Commit(topic)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(git(t, top, "ls-tree", "-r", "topic"), "\n")
		if got := lines(t, rd, commit.Tree, ""); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if text, err := rd.Files(commit.Tree).ReadFile("a/b.yaml"); err != nil || string(text) != "two\n" {
			t.Errorf("%q, %v", text, err)
		}
		if rd.Has(plumbing.NewHash("0123456789012345678901234567890123456789")) {
			t.Error("it has any object")
		}
	}
	if Branch(top) != "main" || Branch(linked) != "other" || Top(filepath.Join(linked, "a")) != linked {
		t.Error(Branch(top), Branch(linked), Top(filepath.Join(linked, "a")))
	}
}

// TestTheBranchOfACommit: CI systems check a commit out, and fetch the branch that it is of.
func TestTheBranchOfACommit(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q", "-b", "main")
	git(t, top, "remote", "add", "origin", "https://git.example.com/a.git")
	git(t, top, "commit", "-q", "--allow-empty", "-m", "one")
	git(t, top, "checkout", "-q", "--detach")
	for _, step := range []struct{ ref, want string }{
		{"", ""},
		{"refs/remotes/pull/5/merge", ""}, // GitHub's, of no remote
		{"refs/remotes/origin/team/next", "team/next"},
		{"refs/remotes/other/main", "team/next"}, // of no remote, either
		{"refs/remotes/origin/main", ""},         // one of two
	} {
		if step.ref != "" {
			git(t, top, "update-ref", step.ref, "HEAD")
		}
		if step.want != "" {
			git(t, top, "symbolic-ref", "refs/remotes/origin/HEAD", step.ref)
		}
		if got := Branch(top); got != step.want {
			t.Errorf("with %s the branch is %q, not %q", step.ref, got, step.want)
		}
	}
	git(t, top, "commit", "-q", "--allow-empty", "-m", "two")
	git(t, top, "update-ref", "refs/remotes/origin/main", "HEAD")
	git(t, top, "pack-refs", "--all")
	if got := Branch(top); got != "main" {
		t.Errorf("the branch of the second commit is %q", got)
	}
}

func TestRemotes(t *testing.T) {
	top := t.TempDir()
	git(t, top, "init", "-q")
	git(t, top, "remote", "add", "origin", "git@git.example.com:org/a.git")
	git(t, top, "remote", "add", "near", "../near.git")
	want := map[string]string{"origin": "git@git.example.com:org/a.git",
		"near": filepath.Join(filepath.Dir(top), "near.git")}
	if diff := cmp.Diff(want, Remotes(top)); diff != "" {
		t.Error(diff)
	}
	if got := Remotes(t.TempDir()); len(got) > 0 {
		t.Error(got)
	}
}
