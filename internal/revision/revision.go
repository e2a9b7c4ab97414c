// Package revision reads the files of a commit of the current Git repository with the program git, which knows names of
// revisions, worktrees and alternates. It changes nothing in the repository.
package revision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Limits of what is read of one commit.
const (
	MaxFiles = 500_000
	MaxBytes = 2 << 30
)

// Repository is the repository that the current folder is in.
type Repository struct {
	// Prefix is the current folder, from the top of the repository; empty at the top.
	Prefix string
}

// ErrNoRepository means that the current folder is in no repository.
var ErrNoRepository = errors.New("the folder is in no Git repository")

// Open finds the repository. The error says why there is none; it is [ErrNoRepository] if it is only not there.
func Open(ctx context.Context) (*Repository, error) {
	prefix, err := run(ctx, "rev-parse", "--show-prefix")
	if err != nil && strings.Contains(err.Error(), "not a git repository") {
		err = ErrNoRepository
	}
	return &Repository{Prefix: prefix}, err
}

// Resolve returns the commit that a revision names, such as main, HEAD~2 or a tag.
func (r *Repository) Resolve(ctx context.Context, name string) (commit string, err error) {
	return run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

// Base returns the commit where the histories of two commits part.
func (r *Repository) Base(ctx context.Context, a, b string) (commit string, err error) {
	return run(ctx, "merge-base", a, b)
}

// run runs git and returns what it prints, in one line.
func run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C") // Open reads what it says
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		return "", errors.New(text)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// Extract writes the files of a commit to a new folder, without submodules. The caller removes the folder. A file above
// the limit of manifests is written with its length, but without its content.
func (r *Repository) Extract(ctx context.Context, commit string) (folder string, err error) {
	entries, err := list(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("list the files of %s: %w", commit, err)
	}
	if folder, err = os.MkdirTemp("", "agentry-revision-"); err != nil {
		return "", err
	}
	if err = write(ctx, folder, entries); err != nil {
		return "", errors.Join(fmt.Errorf("read the files of %s: %w", commit, err), os.RemoveAll(folder))
	}
	return folder, nil
}

// entry is a file of a commit.
type entry struct {
	name, blob string
	isLink     bool
}

// list lists the files of a commit.
func list(ctx context.Context, commit string) (entries []entry, err error) {
	out, err := run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, name, found := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if !found || len(fields) != 3 || fields[1] != "blob" {
			continue
		}
		if len(entries) == MaxFiles {
			return nil, fmt.Errorf("there are more than %d", MaxFiles)
		}
		entries = append(entries, entry{name: name, blob: fields[2], isLink: fields[0] == "120000"})
	}
	return entries, nil
}

// write writes the files to a folder, and nothing outside of it.
func write(ctx context.Context, folder string, entries []entry) (err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() // its files are closed
	// As in a linked work tree, the file .git shows readers of the folder that a repository begins here, and which one.
	repository, err := run(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	if err := root.WriteFile(".git", []byte("gitdir: "+repository+"\n"), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "git", "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(blobs(entries))
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel() // also if not everything was read
		if ended := cmd.Wait(); err == nil && ended != nil && ctx.Err() == nil {
			err = ended
		}
	}()
	in, left := bufio.NewReader(out), int64(MaxBytes)
	for _, e := range entries {
		if err := e.copy(root, in, &left); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

func blobs(entries []entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.blob + "\n")
	}
	return b.String()
}

// copy writes a file with the next answer of git.
func (e entry) copy(root *os.Root, in *bufio.Reader, left *int64) error {
	head, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 {
		return errors.New("git cannot read it: " + strings.TrimSpace(head))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return err
	}
	if *left -= size; *left < 0 {
		return fmt.Errorf("the files have more than %d bytes together", MaxBytes)
	}
	content := io.LimitReader(in, size)
	if !isSafe(e.name) {
		_, err = io.Copy(io.Discard, content)
	} else {
		err = e.write(root, content, size)
	}
	if err == nil {
		_, err = in.Discard(1) // the newline behind the content
	}
	return err
}

// isSafe reports whether a name can be written: it is that of a file below the folder, and not of Git's own.
func isSafe(name string) bool {
	return filepath.IsLocal(filepath.FromSlash(name)) && path.Clean(name) == name &&
		!strings.HasPrefix(strings.ToLower(name)+"/", ".git/")
}

func (e entry) write(root *os.Root, content io.Reader, size int64) error {
	name := filepath.FromSlash(e.name)
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if e.isLink {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return root.Symlink(string(target), name)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if size > manifest.MaxFileBytes {
		_, err = io.Copy(io.Discard, content)
		err = errors.Join(err, f.Truncate(size))
	} else {
		_, err = io.Copy(f, content)
	}
	return errors.Join(err, f.Close())
}
