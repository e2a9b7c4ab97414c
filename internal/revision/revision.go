// Package revision reads the files of a commit in the current Git repository through the git command, which
// understands revision names, worktrees and alternates. It changes nothing in the repository.
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

// Limits of one commit.
const (
	MaxFiles = 500_000
	MaxBytes = 2 << 30
)

// Repository is the repository that contains the current folder.
type Repository struct {
	// Prefix is the path of the current folder in the repository; empty at its top.
	Prefix string
}

// ErrNoRepository means that the current folder is not in a repository.
var ErrNoRepository = errors.New("the folder is not in a Git repository")

// Open finds the repository. Its error is [ErrNoRepository] if there simply is none.
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

// Base returns the merge base of two commits.
func (r *Repository) Base(ctx context.Context, a, b string) (commit string, err error) {
	return run(ctx, "merge-base", a, b)
}

// run runs git and returns its output as one line.
func run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C") // Open compares its message
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if text := strings.TrimSpace(stderr.String()); err != nil && text != "" {
		return "", errors.New(text)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// Extract writes the files of a commit to a new folder, without submodules. The caller removes the folder. A file
// larger than a manifest may be is written with its length, but without its content.
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
			return nil, fmt.Errorf("more than %d files", MaxFiles)
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
	defer root.Close() // its files have been closed
	// As in a linked work tree, the file .git tells readers of the folder that it is the top of which repository.
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
		cancel() // even if not everything was read
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

// copy writes a file with git's next response.
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
		return fmt.Errorf("the files are larger than %d bytes in total", MaxBytes)
	}
	content := io.LimitReader(in, size)
	if !isSafe(e.name) {
		_, err = io.Copy(io.Discard, content)
	} else {
		err = e.write(root, content, size)
	}
	if err == nil {
		_, err = in.Discard(1) // the newline after the content
	}
	return err
}

// isSafe reports whether a file may be written under a name: below the folder, and not as a file of Git.
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
