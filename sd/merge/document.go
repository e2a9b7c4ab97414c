package merge

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/netip"
	"slices"
	"sync"
)

// Entry is the fragment of one pod.
type Entry struct {
	Owner    Owner
	Addr     netip.AddrPort
	Fragment *Fragment
}

// Document is the http_sd answer for a set of pods. It is immutable.
type Document struct {
	all    *View
	owners map[Owner]*View
}

// Build makes a document of the entries, sorted by owner and address. It takes a quarter of the time if they are sorted
// already.
func Build(entries []Entry) *Document {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, compareEntries)
	fragments := make([]*Fragment, 0, len(entries))
	d := &Document{owners: map[Owner]*View{}}
	for i := 0; i < len(entries); {
		start, owner := len(fragments), entries[i].Owner
		for ; i < len(entries) && entries[i].Owner == owner; i++ {
			if entries[i].Fragment.Targets() > 0 {
				fragments = append(fragments, entries[i].Fragment)
			}
		}
		d.owners[owner] = newView(fragments[start:len(fragments):len(fragments)])
	}
	d.all = newView(fragments)
	return d
}

// compareEntries orders by owner and address. Bytes matter only while two pods with the same address, one after the
// other, are both listed.
func compareEntries(a, b Entry) int {
	if c := cmp.Or(a.Owner.Compare(b.Owner), a.Addr.Compare(b.Addr)); c != 0 {
		return c
	}
	return bytes.Compare(a.Fragment.bytes(), b.Fragment.bytes())
}

// All returns the whole document.
func (d *Document) All() *View { return d.all }

// Of returns the part of one owner, without groups if the owner is unknown.
func (d *Document) Of(owner Owner) *View {
	if v, ok := d.owners[owner]; ok {
		return v
	}
	return newView(nil)
}

// View is an http_sd answer: an array of groups. It shares the bytes of the fragments.
type View struct {
	fragments []*Fragment
	size      int
	targets   int
	tag       string
	zipped    func() []byte
}

// The text before and after the groups.
const (
	opening = "["
	closing = "]\n"
)

func newView(fragments []*Fragment) *View {
	v := &View{fragments: fragments, size: len(opening) + len(closing)}
	h := sha256.New()
	for i, f := range fragments {
		if i > 0 {
			v.size += len(separator)
		}
		v.size += len(f.data)
		v.targets += len(f.groups)
		h.Write(f.sum[:])
	}
	v.tag = base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
	v.zipped = sync.OnceValue(v.gzip)
	return v
}

// Size returns the number of bytes that WriteTo writes.
func (v *View) Size() int { return v.size }

// Targets returns the number of targets.
func (v *View) Targets() int { return v.targets }

// Tag identifies the bytes, as an ETag without quotes.
func (v *View) Tag() string { return v.tag }

// WriteTo implements [io.WriterTo]. It makes a write for each pod, so w should be buffered.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	out := counter{w: w}
	out.write(opening)
	for i, f := range v.fragments {
		if i > 0 {
			out.write(separator)
		}
		out.writeBytes(f.data)
	}
	out.write(closing)
	return out.n, out.err
}

// Gzip returns the compressed answer. The first call computes it.
func (v *View) Gzip() []byte { return v.zipped() }

func (v *View) gzip() []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = v.WriteTo(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil // Cannot happen: a buffer takes everything, and the level is valid.
	}
	return out.Bytes()
}

// counter counts the bytes written, and keeps the first error.
type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) write(s string) {
	if c.err == nil {
		n, err := io.WriteString(c.w, s)
		c.n, c.err = c.n+int64(n), err
	}
}

func (c *counter) writeBytes(b []byte) {
	if c.err == nil {
		n, err := c.w.Write(b)
		c.n, c.err = c.n+int64(n), err
	}
}
