package gittest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// firstCommit is the date of the first commit of a Repo, in seconds since 1970; each further commit is a minute later.
const firstCommit = 1_700_000_000

// Repo is a bare repository on disk.
type Repo struct {
	Dir string // ends in .git

	t       testing.TB
	commits int
}

// NewRepo makes an empty bare repository with main as its HEAD.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	return NewRepoAt(t, filepath.Join(t.TempDir(), "repo.git"))
}

// NewRepoAt makes an empty bare repository in a directory.
func NewRepoAt(t testing.TB, dir string) *Repo {
	t.Helper()
	r := &Repo{Dir: dir, t: t}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.Git("init", "-q", "--bare", "--initial-branch=main", ".")
	r.Git("config", "http.receivepack", "true")
	r.Git("config", "user.name", "Ann") // for hooks, which do not have what [Env] sets
	r.Git("config", "user.email", "ann@example.com")
	return r
}

// OpenRepo opens an existing bare repository.
func OpenRepo(t testing.TB, dir string) *Repo {
	return &Repo{Dir: dir, t: t}
}

// Env returns an environment in which git ignores the configuration of the machine and has a fixed identity.
func Env() []string {
	return append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	)
}

// Git runs git in the repository and returns its trimmed output. A failure fails the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.GitIn("", args...)
}

// GitIn is like Git, but with standard input.
func (r *Repo) GitIn(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, Env(), strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return strings.TrimSpace(out.String())
}

// Commit adds a commit to a branch, which it creates if necessary, and returns its hash. It removes files with empty
// content; the content "!" makes an empty file.
func (r *Repo) Commit(branch string, files map[string]string) string {
	r.t.Helper()
	ref := "refs/heads/" + branch
	var b strings.Builder
	message := fmt.Sprintf("commit %d", r.commits)
	fmt.Fprintf(&b, "commit %s\ncommitter Ann <ann@example.com> %d +0000\n", ref, firstCommit+60*r.commits)
	fmt.Fprintf(&b, "data %d\n%s\n", len(message), message)
	if r.Has(ref) {
		fmt.Fprintf(&b, "from %s^0\n", ref)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		if content == "" {
			fmt.Fprintf(&b, "D %s\n", name)
			continue
		}
		content = strings.TrimPrefix(content, "!")
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(content), content)
	}
	r.commits++
	r.GitIn(b.String(), "fast-import", "--quiet", "--force")
	return r.Head(branch)
}

// Head returns the hash of a branch's commit.
func (r *Repo) Head(branch string) string {
	r.t.Helper()
	return r.Git("rev-parse", "--verify", "refs/heads/"+branch)
}

// Has reports whether the repository has an object with that hash, or a ref with that full name.
func (r *Repo) Has(name string) bool {
	cmd := exec.Command("git", "cat-file", "-e", name)
	cmd.Dir, cmd.Env = r.Dir, Env()
	return cmd.Run() == nil
}

// Checkout clones a branch into a work tree, as somebody has who changes it by hand.
func (r *Repo) Checkout(branch string) *Repo {
	r.t.Helper()
	c := OpenRepo(r.t, r.t.TempDir())
	c.Git("clone", "-q", "-b", branch, r.Dir, ".")
	return c
}

// Hook installs a shell script as a hook, such as pre-receive.
func (r *Repo) Hook(name, script string) {
	r.t.Helper()
	file := filepath.Join(r.Dir, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// Files returns the contents of all files of a commit, by path.
func (r *Repo) Files(commit string) map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(r.Git("ls-tree", "-r", "--name-only", commit)) {
		name := strings.TrimSuffix(line, "\n")
		out[name] = r.Git("cat-file", "blob", commit+":"+name)
	}
	return out
}

// Fsck fails the test if git finds an error in the repository.
func (r *Repo) Fsck() {
	r.t.Helper()
	r.Git("fsck", "--strict", "--no-dangling")
}
