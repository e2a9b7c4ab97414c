package blame

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/committext"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
)

const (
	// maxCommits limits the commits that the searches of a pass walk through.
	maxCommits = 5000
	// maxFileBytes limits the files that are read.
	maxFileBytes = 1 << 20
)

// Source is a repository at a commit.
type Source struct {
	URL    string
	Reader *object.Reader
	Head   *object.Commit
}

// Memory keeps what was found, so that a finding that stays costs no walk in the next pass. The zero value is empty. It
// must not be used concurrently.
type Memory struct {
	before, now map[document]*diag.Change // of the last pass, and of this one
	commits     int                       // that this pass may still walk through
	owners      map[plumbing.Hash]owners  // by the blob of the file
}

// document is a document of a file of a repository, by the hash of its text.
type document struct {
	url, file string
	text      [sha256.Size]byte
}

// Begin begins a pass. What the pass before it did not ask for is forgotten.
func (m *Memory) Begin() { m.before, m.now, m.commits = m.now, map[document]*diag.Change{}, maxCommits }

// Change returns the newest commit in the history of a source that changed the document at a line of a file, which
// counts from 1; at line 0, the file. It follows the parents that have the document as it is, as git log does. It
// returns nil if the file is not in the source or is too large, or if the commit is not in the cache or too far away.
func (m *Memory) Change(src Source, file string, line int) (*diag.Change, error) {
	h := history{rd: src.Reader, file: file, commits: &m.commits}
	blob, err := h.blob(src.Head)
	if err != nil || blob.IsZero() {
		return nil, err
	}
	text, err := h.read(blob)
	if err != nil || text == "" {
		return nil, err
	}
	h.text = documentAt(text, line)
	key := document{src.URL, file, sha256.Sum256([]byte(h.text))}
	c, known := m.now[key]
	if !known {
		c, known = m.before[key]
	}
	if !known {
		if c, err = h.walk(src.Head, blob); err != nil {
			return nil, fmt.Errorf("search the history of %s for the last change of %s: %w", src.Head.Hash, file, err)
		}
	}
	if known || m.commits > 0 {
		m.now[key] = c
	}
	return c, nil
}

// Had reports whether a commit of a source has the document that is at a line of a file, as [Memory.Change] counts, in
// the same file and as it is.
func (m *Memory) Had(src Source, commit plumbing.Hash, file string, line int) (bool, error) {
	h := history{rd: src.Reader, file: file}
	head, err := h.at(src.Head)
	if err != nil {
		return false, err
	}
	c, err := src.Reader.Commit(commit)
	if err != nil {
		return false, err
	}
	text, err := h.at(c)
	return text != "" && head != "" && hasDocument(text, documentAt(head, line)), err
}

// history is the history of one document.
type history struct {
	rd         *object.Reader
	file, text string
	commits    *int // that may still be read
}

// walk returns the commit that made the document what it is at head, where it is in a blob.
func (h *history) walk(head *object.Commit, blob plumbing.Hash) (*diag.Change, error) {
	for at := head; *h.commits > 0; *h.commits-- {
		parent, its, err := h.unchanged(at, blob)
		switch {
		case errors.Is(err, object.ErrNotFound): // the end of a shallow history
			return nil, nil
		case err != nil:
			return nil, err
		case parent == nil:
			subject, _ := committext.SplitMessage(at.Message)
			return &diag.Change{Commit: at.Hash.String(), Date: committext.SafeDate(at.Author.When),
				Author: committext.Person(at.Author), Subject: subject}, nil
		}
		at, blob = parent, its
	}
	return nil, nil
}

// unchanged returns the first parent that has the document as it is, and the blob that it is in there. It returns nil
// if there is none.
func (h *history) unchanged(c *object.Commit, blob plumbing.Hash) (*object.Commit, plumbing.Hash, error) {
	for _, id := range c.Parents {
		parent, err := h.rd.Commit(id)
		if err != nil {
			return nil, plumbing.ZeroHash, err
		}
		its, err := h.blob(parent)
		if err != nil {
			return nil, plumbing.ZeroHash, err
		}
		if its == blob {
			return parent, its, nil
		}
		text, err := h.read(its)
		if err != nil {
			return nil, plumbing.ZeroHash, err
		}
		if hasDocument(text, h.text) {
			return parent, its, nil
		}
	}
	return nil, plumbing.ZeroHash, nil
}

// at returns the text of the file in a commit, as read does.
func (h *history) at(c *object.Commit) (string, error) {
	blob, err := h.blob(c)
	if err != nil {
		return "", err
	}
	return h.read(blob)
}

// blob returns the blob of the file in a commit, or zero if there is none.
func (h *history) blob(c *object.Commit) (plumbing.Hash, error) {
	e, err := h.rd.Lookup(c.Tree, h.file)
	if errors.Is(err, object.ErrPathNotFound) || err == nil && !e.Mode.IsFile() {
		return plumbing.ZeroHash, nil
	}
	return e.Hash, err
}

// read returns the text of a blob; "" if it is zero or too large.
func (h *history) read(blob plumbing.Hash) (string, error) {
	if blob.IsZero() {
		return "", nil
	}
	size, err := h.rd.BlobSize(blob)
	if err != nil || size > maxFileBytes {
		return "", err
	}
	text, err := h.rd.Blob(blob, maxFileBytes)
	return string(text), err
}

// documentAt returns the YAML document at a line of a file, without space around it; the whole file if there is none.
func documentAt(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return text
	}
	from, to := line-1, line
	for from > 0 && !isBetween(lines[from]) {
		from--
	}
	if isBetween(lines[from]) {
		from++
	}
	for to < len(lines) && !isBetween(lines[to]) {
		to++
	}
	return cmp.Or(strings.TrimSpace(strings.Join(lines[from:max(from, to)], "\n")), text)
}

// hasDocument reports whether a text is a document of a file, or the whole file.
func hasDocument(file, text string) bool {
	for rest := file; ; {
		before, after, found := strings.Cut(rest, text)
		if !found {
			return false
		}
		before = strings.TrimSpace(file[:len(file)-len(rest)+len(before)])
		next, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
		last := before[strings.LastIndexByte(before, '\n')+1:]
		if (last == "" || isBetween(last)) && (next == "" || isBetween(next)) {
			return true
		}
		rest = after
	}
}

// isBetween reports whether a line separates documents.
func isBetween(line string) bool {
	return strings.HasPrefix(line, "---") && strings.TrimSpace(line[3:]) == "" || strings.HasPrefix(line, "--- ")
}
