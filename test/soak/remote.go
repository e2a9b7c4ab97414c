package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The hook of a server records who moved a ref: a replica, or this program.
const (
	byEnv     = "AGENTRY_SOAK_BY"
	byReplica = "replica"
	byPerson  = "person"
)

const zero = "0000000000000000000000000000000000000000"

// remote is a bare repository, which replicas reach through a proxy.
type remote struct {
	dir   string
	url   string // as pipelines name it
	proxy *proxy
	// generous means that it sends unreachable commits, like GitHub.
	generous bool
	// checked is the number of transactions that passed the checks.
	checked int
}

// newRemote makes a remote. The hooks run in the server's process: one records moved refs, the other rejects pushes
// while the file reject exists.
func newRemote(dir string) (*remote, error) {
	r := &remote{dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "-q", "--bare", "--initial-branch=main", "."},
		{"config", "http.receivepack", "true"},
		{"config", "gc.auto", "0"}, // the oracle needs unreachable commits
		{"config", "receive.autogc", "false"},
		{"config", "core.looseCompression", "0"},
	} {
		if _, err := r.git(args...); err != nil {
			return nil, err
		}
	}
	for name, script := range map[string]string{
		"reference-transaction": "[ \"$1\" = committed ] || exit 0\nwhile read -r old new ref; do echo \"$" + byEnv +
			" $old $new $ref\"; done >>'" + r.file("transactions") + "'",
		"pre-receive": "[ ! -e '" + r.file("reject") + "' ] || { echo 'nobody may push today' >&2; exit 1; }",
	} {
		if err := os.WriteFile(filepath.Join(dir, "hooks", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err !=
			nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *remote) file(name string) string { return filepath.Join(r.dir, name) }

// gitEnv returns an environment in which git ignores the configuration of the machine.
func gitEnv() []string {
	return []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann",
		"GIT_COMMITTER_EMAIL=ann@example.com",
	}
}

func (r *remote) git(args ...string) (string, error) { return r.gitIn("", args...) }

// gitIn runs git and returns its trimmed output.
func (r *remote) gitIn(stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = append(append(os.Environ(), gitEnv()...), byEnv+"="+byPerson)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", strings.Join(args, " "), r.dir, err,
			strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// refs returns all refs with their values.
func (r *remote) refs() (map[string]string, error) {
	out, err := r.git("for-each-ref", "--format=%(refname) %(objectname)")
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = value
	}
	return refs, err
}

// tip returns the value of a ref, empty if it does not exist.
func (r *remote) tip(ref string) string {
	out, err := r.git("rev-parse", "-q", "--verify", ref)
	if err != nil {
		return ""
	}
	return out
}

// move moves a ref from one value to another. An empty value means that the ref does not exist.
func (r *remote) move(ref, from, to string) error {
	if from == "" {
		from = zero
	}
	if to == "" {
		to = zero
	}
	_, err := r.git("update-ref", ref, to, from)
	return err
}

// edit is the new content of a file; nil removes it.
type edit *string

func write(text string) edit { return &text }

// commit commits edits on top of a commit, and moves a branch from that commit to the new one.
func (r *remote) commit(branch, parent string, edits map[string]edit, message string, when time.Time) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/%s\nmark :1\ncommitter Ann <ann@example.com> %d +0000\ndata %d\n%s\n", branch,
		when.Unix(), len(message), message)
	if parent != "" {
		fmt.Fprintf(&b, "from %s^0\n", parent)
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		if text := edits[name]; text != nil {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", name, len(*text), *text)
		} else {
			fmt.Fprintf(&b, "D %s\n", name)
		}
	}
	b.WriteString("get-mark :1\n")
	return r.gitIn(b.String(), "fast-import", "--quiet")
}

// tree returns the plain files of a commit, below the paths if any are given.
func (r *remote) tree(commit string, paths ...string) (map[string]string, error) {
	cmd := exec.Command("git", append([]string{"archive", "--format=tar", commit, "--"}, paths...)...)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), gitEnv()...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git archive %s of %s: %w: %s", commit, r.dir, err, strings.TrimSpace(errs.String()))
	}
	files := map[string]string{}
	for t := tar.NewReader(&out); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		files[header.Name] = string(data)
	}
}

// folder returns the files of a commit below a path, which may be missing, or empty for the root.
func (r *remote) folder(commit, dir string) (map[string]string, error) {
	if dir == "" {
		return r.tree(commit)
	}
	if _, err := r.git("cat-file", "-e", commit+":"+dir); err != nil {
		return map[string]string{}, nil
	}
	return r.tree(commit, dir)
}

// show returns a file of a commit, and false if there is none.
func (r *remote) show(commit, name string) (string, bool) {
	files, err := r.folder(commit, name)
	text, ok := files[name]
	return text, err == nil && ok
}

// hasAncestor reports whether another commit is in the history of a commit.
func (r *remote) hasAncestor(commit, ancestor string) bool {
	_, err := r.git("merge-base", "--is-ancestor", ancestor, commit)
	return err == nil
}

// parents returns the parents of a commit.
func (r *remote) parents(commit string) []string {
	out, err := r.git("rev-parse", commit+"^@")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// setRejecting makes the hook reject pushes, or accept them again.
func (r *remote) setRejecting(rejects bool) error {
	if rejects {
		return os.WriteFile(r.file("reject"), nil, 0o644)
	}
	if err := os.Remove(r.file("reject")); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// transaction is the move of a ref.
type transaction struct{ by, old, new, ref string }

// transactions returns all moves since the start.
func (r *remote) transactions() ([]transaction, error) {
	data, err := os.ReadFile(r.file("transactions"))
	var out []transaction
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 4 {
			out = append(out, transaction{f[0], f[1], f[2], f[3]})
		}
	}
	return out, err
}
