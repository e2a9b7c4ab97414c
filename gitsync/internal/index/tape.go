package index

import (
	"encoding/gob"
	"errors"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/source"
)

// tape has the values of some files, one after the other: most of an index are the heads of objects, and gob takes
// several times as long for structs as for lists of texts and numbers. Each method below moves a value onto the tape
// or, if the tape is read, from it.
type tape struct {
	Texts   []string // each once
	Numbers []int
	Bytes   []byte
	Diags   []diag.List

	places         map[string]int // of the texts; nil if the tape is read
	numbers, bytes int            // how many have been read
	isBad          bool           // more was to be read than there is
}

// filesPerTape bounds the memory that a tape takes.
const filesPerTape = 4096

var errTape = errors.New("has fewer values than it says")

func writeFiles(e *gob.Encoder, files []source.StoredFile) error {
	for chunk := range slices.Chunk(files, filesPerTape) {
		t := &tape{places: map[string]int{}}
		for _, f := range chunk {
			t.file(&f)
		}
		if err := e.Encode(t); err != nil {
			return err
		}
	}
	return nil
}

func readFiles(d *gob.Decoder, count int) ([]source.StoredFile, error) {
	const most = 1 << 20 // for which memory is reserved, whatever the file says
	out := make([]source.StoredFile, 0, min(count, most))
	for len(out) < count {
		t := &tape{}
		if err := d.Decode(t); err != nil {
			return nil, err
		}
		for range min(filesPerTape, count-len(out)) {
			var f source.StoredFile
			if t.file(&f); t.isBad {
				return nil, errTape
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func (t *tape) file(f *source.StoredFile) {
	t.text(&f.Path)
	t.raw(f.Blob[:])
	t.number(&f.Count)
	t.raw(f.Sum[:])
	hasHeads := f.Heads != nil
	if t.flag(&hasHeads); !hasHeads {
		return
	}
	if f.Heads == nil {
		f.Heads = &manifest.Heads{}
	}
	list(t, &f.Heads.Objects, t.object)
	list(t, &f.Heads.Begins, t.begin)
	t.diags(&f.Heads.Diags)
	fields(t, &f.Heads.Ignored, t.number)
}

func (t *tape) object(of **manifest.Object) {
	if *of == nil {
		*of = &manifest.Object{}
	}
	o := *of
	t.id(&o.ID)
	t.text(&o.APIVersion)
	list(t, &o.Labels, t.label)
	fields(t, &o.Annotations, t.text)
	t.flag(&o.IsForeign)
	t.flag(&o.IsPassed)
	t.flag(&o.HasValue)
	list(t, &o.Mentions, t.id)
	list(t, &o.Targets, func(n *manifest.TargetNamespaces) {
		t.text(&n.Path)
		list(t, &n.Names, t.text)
	})
	list(t, &o.EarlierNames, t.text)
	t.text(&o.Tenant)
	t.raw(o.Digest[:])
	t.number(&o.Bytes)
}

func (t *tape) id(id *manifest.ID) {
	t.text(&id.Kind)
	t.text(&id.Namespace)
	t.text(&id.Name)
}

func (t *tape) label(l *manifest.Label) {
	t.text(&l.Name)
	t.text(&l.Value)
}

func (t *tape) begin(b *manifest.Begin) {
	line, column := int(b.Line), int(b.Column)
	t.number(&line)
	t.number(&column)
	*b = manifest.Begin{Line: int32(line), Column: int32(column)}
}

func (t *tape) diags(found *diag.List) {
	has := len(*found) > 0
	switch t.flag(&has); {
	case !has:
	case t.places != nil:
		t.Diags = append(t.Diags, *found)
	case len(t.Diags) == 0:
		t.isBad = true
	default:
		*found, t.Diags = t.Diags[0], t.Diags[1:]
	}
}

func (t *tape) number(n *int) {
	switch {
	case t.places != nil:
		t.Numbers = append(t.Numbers, *n)
	case t.numbers == len(t.Numbers):
		t.isBad = true
	default:
		*n = t.Numbers[t.numbers]
		t.numbers++
	}
}

func (t *tape) flag(b *bool) {
	n := 0
	if *b {
		n = 1
	}
	t.number(&n)
	*b = n != 0
}

func (t *tape) text(s *string) {
	place, isKnown := t.places[*s]
	if t.places != nil && !isKnown {
		place = len(t.Texts)
		t.places[*s], t.Texts = place, append(t.Texts, *s)
	}
	switch t.number(&place); {
	case place < 0 || place >= len(t.Texts):
		t.isBad = true
	default:
		*s = t.Texts[place]
	}
}

// raw moves as many bytes as there are in the slice.
func (t *tape) raw(b []byte) {
	switch {
	case t.places != nil:
		t.Bytes = append(t.Bytes, b...)
	case len(t.Bytes)-t.bytes < len(b):
		t.isBad = true
	default:
		t.bytes += copy(b, t.Bytes[t.bytes:])
	}
}

// list moves a list, whose items have a number at least.
func list[S ~[]T, T any](t *tape, values *S, move func(*T)) {
	count := len(*values)
	if t.number(&count); count == 0 {
		return
	}
	if t.places == nil {
		if count < 0 || count > len(t.Numbers)-t.numbers {
			t.isBad = true
			return
		}
		*values = make(S, count)
	}
	for i := range *values {
		move(&(*values)[i])
	}
}

// fields moves a map.
func fields[V any](t *tape, values *map[string]V, move func(*V)) {
	keys := slices.Sorted(maps.Keys(*values))
	list(t, &keys, t.text)
	if t.places == nil && len(keys) > 0 {
		*values = make(map[string]V, len(keys))
	}
	for _, key := range keys {
		value := (*values)[key]
		move(&value)
		(*values)[key] = value
	}
}
