package checkout

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

// Repository is the Git repository of a folder. It is read through the git command, which understands revision names,
// linked work trees, alternates and partial clones.
type Repository struct {
	top string

	mu      sync.Mutex
	process *objectReader // nil before the first object
	last    *gitObject    // most objects are asked for twice: whether they exist, then what they are
	trees   map[plumbing.Hash][]object.Entry
}

// ErrNoRepository means that a folder is in no Git repository.
var ErrNoRepository = errors.New("the folder is not in a Git repository")

// ErrUnknownRevision means that the repository has no commit of a name.
var ErrUnknownRevision = errors.New("no commit has this name")

// OpenRepository opens the repository of the work tree at top. The caller must close it.
func OpenRepository(top string) *Repository {
	return &Repository{top: top, trees: map[plumbing.Hash][]object.Entry{}}
}

// Resolve returns the commit that a revision names, such as main, HEAD~2 or a tag.
func (r *Repository) Resolve(ctx context.Context, revision string) (plumbing.Hash, error) {
	return r.commit(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
}

// Base returns the commit where the histories of two commits part.
func (r *Repository) Base(ctx context.Context, a, b plumbing.Hash) (plumbing.Hash, error) {
	return r.commit(ctx, "merge-base", a.String(), b.String())
}

// Tags returns the names of the tags of a commit.
func (r *Repository) Tags(ctx context.Context, commit plumbing.Hash) ([]string, error) {
	text, err := r.git(ctx, "tag", "--points-at", commit.String())
	return strings.Fields(text), err // no name has a space
}

// commit runs git and returns the commit that it prints.
func (r *Repository) commit(ctx context.Context, args ...string) (h plumbing.Hash, err error) {
	text, err := r.git(ctx, args...)
	switch {
	case errors.As(err, new(*exec.ExitError)):
		return h, ErrUnknownRevision
	case err != nil:
		return h, err
	case !plumbing.IsHash(text):
		return h, fmt.Errorf("git names no commit of 40 digits: %q", text)
	}
	return plumbing.NewHash(text), nil
}

// git runs git and returns what it prints.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	if r.top == "" {
		return "", ErrNoRepository
	}
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.top}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		return "", fmt.Errorf("git: %s", strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), err
}

// Close ends the process that reads objects.
func (r *Repository) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		r.process.close()
		r.process = nil
	}
}

// gitObject is an object as git prints it.
type gitObject struct {
	hash    plumbing.Hash
	kind    string // empty: there is none
	size    int64
	content []byte // nil if it is larger than a manifest may be
}

// get reads an object.
func (r *Repository) get(h plumbing.Hash) (*gitObject, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && r.last.hash == h {
		return r.last, nil
	}
	if r.process == nil {
		var err error
		if r.process, err = startObjectReader(r.top); err != nil {
			return nil, err
		}
	}
	o, err := r.process.read(h)
	if err != nil {
		r.process.close()
		r.process = nil
		return nil, fmt.Errorf("read %s of %s: %w", h, r.top, err)
	}
	r.last = o
	return o, nil
}

// content returns the content of an object of a kind.
func (r *Repository) content(h plumbing.Hash, kind string) ([]byte, error) {
	o, err := r.get(h)
	switch {
	case err != nil:
		return nil, err
	case o.kind != kind:
		return nil, fmt.Errorf("%w: %s %s", object.ErrNotFound, kind, h)
	case o.content == nil:
		return nil, fmt.Errorf("%s %s: %w: %d bytes", kind, h, limit.ErrTooLarge, o.size)
	}
	return o.content, nil
}

// Has implements [object.Objects].
func (r *Repository) Has(h plumbing.Hash) bool {
	o, err := r.get(h)
	return err == nil && o.kind != ""
}

// Commit implements [object.Objects].
func (r *Repository) Commit(h plumbing.Hash) (*object.Commit, error) {
	text, err := r.content(h, "commit")
	if err != nil {
		return nil, err
	}
	raw := &plumbing.MemoryObject{}
	raw.SetType(plumbing.CommitObject)
	_, _ = raw.Write(text) // into memory
	c := &gitobject.Commit{}
	if err := c.Decode(raw); err != nil {
		return nil, fmt.Errorf("decode commit %s: %w", h, err)
	}
	return &object.Commit{Hash: h, Tree: c.TreeHash, Parents: c.ParentHashes, Author: c.Author,
		Committer: c.Committer, Message: c.Message}, nil
}

// Tree implements [object.Objects].
func (r *Repository) Tree(h plumbing.Hash) ([]object.Entry, error) {
	r.mu.Lock()
	known, ok := r.trees[h]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	text, err := r.content(h, "tree")
	if err != nil {
		return nil, err
	}
	entries, err := object.DecodeTree(text)
	if err != nil {
		return nil, fmt.Errorf("decode tree %s: %w", h, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trees[h] = entries
	return entries, nil
}

// BlobSize implements [object.Objects].
func (r *Repository) BlobSize(h plumbing.Hash) (int64, error) {
	o, err := r.get(h)
	if err != nil {
		return 0, err
	}
	return o.size, nil
}

// Blob implements [object.Objects].
func (r *Repository) Blob(h plumbing.Hash, maxBytes int64) ([]byte, error) {
	text, err := r.content(h, "blob")
	if maxBytes > 0 && int64(len(text)) > maxBytes {
		return nil, fmt.Errorf("blob %s: %w: %d bytes, at most %d are allowed", h, limit.ErrTooLarge, len(text),
			maxBytes)
	}
	return text, err
}

// objectReader is a process that prints objects: git cat-file --batch.
type objectReader struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startObjectReader(top string) (*objectReader, error) {
	p := &objectReader{cmd: exec.Command("git", "-C", top, "cat-file", "--batch")}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	return p, p.cmd.Start()
}

func (p *objectReader) close() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill() // it may be writing what nobody reads
	_ = p.cmd.Wait()
}

// read asks for an object: git answers with a line "HASH KIND SIZE", the content and a newline, or "HASH missing".
func (p *objectReader) read(h plumbing.Hash) (*gitObject, error) {
	if _, err := io.WriteString(p.in, h.String()+"\n"); err != nil {
		return nil, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return &gitObject{hash: h}, nil
	}
	o := &gitObject{hash: h, kind: fields[1]}
	if o.size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return nil, err
	}
	if o.size > manifest.MaxFileBytes {
		_, err = io.CopyN(io.Discard, p.out, o.size)
	} else {
		o.content = make([]byte, o.size)
		_, err = io.ReadFull(p.out, o.content)
	}
	if err == nil {
		_, err = p.out.Discard(1)
	}
	return o, err
}
