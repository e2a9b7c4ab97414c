package object

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/agentry-dev/agentry/gitsync/repo/store"
)

// Signature is the author or committer of a commit, with the time.
type Signature = object.Signature

// Writer creates new objects in memory for a push. It belongs to one goroutine, and uses its Reader for existing
// objects. After a lost race the same Writer can build on the new tip: a push sends only the objects that its commits
// need.
type Writer struct {
	rd      *Reader
	objects map[plumbing.Hash]store.Object
	large   map[plumbing.Hash][]Entry // new directories in which each of many names is looked up
}

// NewWriter returns a Writer that builds on the objects of a Reader.
func NewWriter(rd *Reader) *Writer {
	return &Writer{rd: rd, objects: map[plumbing.Hash]store.Object{}, large: map[plumbing.Hash][]Entry{}}
}

func (w *Writer) put(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	h := plumbing.ComputeHash(kind, content)
	w.objects[h] = store.Object{Hash: h, Kind: kind, Content: content}
	return h
}

// Tree returns the entries of a new or existing directory. The caller must not change the result.
func (w *Writer) Tree(h plumbing.Hash) ([]Entry, error) {
	if entries, ok := w.large[h]; ok {
		return entries, nil
	}
	o, isNew := w.objects[h]
	if !isNew || o.Kind != plumbing.TreeObject {
		return w.rd.Tree(h)
	}
	entries, err := DecodeTree(o.Content)
	if err == nil && len(entries) >= largeEntries {
		w.large[h] = entries
	}
	return entries, err
}

// Lookup is like [Reader.Lookup], for new or existing trees.
func (w *Writer) Lookup(tree plumbing.Hash, name string) (Entry, error) {
	return lookup(w.Tree, tree, name)
}

// CommitOptions is the content of a commit. All fields except Sign are required, so that equal input makes equal
// commits.
type CommitOptions struct {
	Tree      plumbing.Hash
	Parents   []plumbing.Hash // none for the first commit of a branch
	Author    Signature
	Committer Signature
	Message   string
	// Sign returns an armoured signature of the commit, which is given as text.
	Sign func(text []byte) (string, error)
}

// Commit creates a commit.
func (w *Writer) Commit(opts CommitOptions) (plumbing.Hash, error) {
	if err := errors.Join(checkSignature(opts.Author), checkSignature(opts.Committer)); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("make commit: %w", err)
	}
	if strings.Contains(opts.Message, "\x00") {
		return plumbing.ZeroHash, errors.New("make commit: message contains a zero byte")
	}
	text := encodeCommit(opts, "")
	if opts.Sign != nil {
		signature, err := opts.Sign(text)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("sign commit: %w", err)
		}
		text = encodeCommit(opts, signature)
	}
	return w.put(plumbing.CommitObject, text), nil
}

// checkSignature refuses a name or address that would break a commit's header.
func checkSignature(s Signature) error {
	if s.Name == "" || s.Email == "" || s.When.IsZero() {
		return fmt.Errorf("signature %q <%s> needs a name, an address and a date", s.Name, s.Email)
	}
	if strings.ContainsAny(s.Name+s.Email, "<>\n\r\x00") {
		return fmt.Errorf("signature %q <%q> contains a forbidden character", s.Name, s.Email)
	}
	return nil
}

func encodeCommit(opts CommitOptions, signature string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", opts.Tree)
	for _, p := range opts.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	for _, s := range []struct {
		role string
		Signature
	}{{"author", opts.Author}, {"committer", opts.Committer}} {
		fmt.Fprintf(&b, "%s %s <%s> %d %s\n", s.role, s.Name, s.Email, s.When.Unix(), s.When.Format("-0700"))
	}
	if signature != "" {
		// Continuation lines begin with a space.
		fmt.Fprintf(&b, "gpgsig %s\n", strings.ReplaceAll(strings.TrimRight(signature, "\n"), "\n", "\n "))
	}
	fmt.Fprintf(&b, "\n%s", opts.Message)
	return b.Bytes()
}

// Pack packs the given objects and the new objects that they need. It stops at existing objects, because everything
// they need exists too.
func (w *Writer) Pack(from ...plumbing.Hash) (store.Packed, error) {
	hashes, err := w.reachable(from)
	if err != nil {
		return store.Packed{}, err
	}
	return w.pack(hashes)
}

func (w *Writer) pack(hashes []plumbing.Hash) (store.Packed, error) {
	objects := make([]store.Object, len(hashes))
	for i, h := range hashes {
		objects[i] = w.objects[h]
	}
	return store.Encode(objects)
}

// reachable returns the given objects and the new objects that they need.
func (w *Writer) reachable(from []plumbing.Hash) ([]plumbing.Hash, error) {
	seen := map[plumbing.Hash]bool{}
	var out []plumbing.Hash
	next := func(h plumbing.Hash) {
		if _, isNew := w.objects[h]; isNew && !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	for _, h := range from {
		next(h)
	}
	for i := 0; i < len(out); i++ {
		o := w.objects[out[i]]
		if err := eachReference(o, next); err != nil {
			return nil, fmt.Errorf("new %s %s: %w", o.Kind, out[i], err)
		}
	}
	return out, nil
}

func eachReference(o store.Object, f func(plumbing.Hash)) error {
	switch o.Kind {
	case plumbing.TreeObject:
		entries, err := DecodeTree(o.Content)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Mode != filemode.Submodule {
				f(e.Hash)
			}
		}
	case plumbing.CommitObject:
		header, _, _ := bytes.Cut(o.Content, []byte("\n\n"))
		for line := range strings.Lines(string(header)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if key == "tree" || key == "parent" {
				f(plumbing.NewHash(value))
			}
		}
	}
	return nil
}
