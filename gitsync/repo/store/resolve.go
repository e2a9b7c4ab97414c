package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// resolveAll hashes all deltas.
func (x *indexer) resolveAll(ctx context.Context) error {
	for _, i := range x.whole {
		if !x.hasDeltas(i) {
			continue
		}
		content, err := x.unpack(ctx, x.entries[i].offset)
		if err != nil {
			return err
		}
		if err := x.resolve(ctx, i, content, 1); err != nil {
			return err
		}
	}
	if len(x.whole)+x.resolved < len(x.entries) {
		return errors.New("a delta builds on an object that is not in the pack")
	}
	return nil
}

func (x *indexer) hasDeltas(i int32) bool {
	return len(x.deltas[i]) > 0 || len(x.refDeltas[x.entries[i].hash]) > 0
}

// resolve hashes the deltas that build on an entry with that content. To keep few contents in memory at once, it visits
// the delta that most others build on last, when the content is no longer needed.
func (x *indexer) resolve(ctx context.Context, i int32, content []byte, depth int) error {
	if depth > maxChain {
		return fmt.Errorf("%w: a chain of more than %d deltas", limit.ErrTooLarge, maxChain)
	}
	size := int64(len(content))
	if x.held += size; x.held > 2*x.limits.ObjectBytes {
		return fmt.Errorf("%w: the deltas of the pack need more than %d bytes of memory", limit.ErrTooLarge,
			2*x.limits.ObjectBytes)
	}
	kind, hash := x.entries[i].kind, x.entries[i].hash
	deltas := slices.Concat(x.deltas[i], x.refDeltas[hash])
	delete(x.refDeltas, hash) // because an object can be in the pack twice
	slices.SortFunc(deltas, func(a, b int32) int { return cmp.Compare(x.entries[a].below, x.entries[b].below) })
	for n, d := range deltas {
		result, err := x.apply(ctx, d, content, kind)
		if err != nil {
			return err
		}
		if n == len(deltas)-1 {
			content = nil
			x.held -= size
		}
		if result == nil {
			continue
		}
		if err := x.resolve(ctx, d, result, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// unpack returns the content of the object at an offset, or the instructions of the delta there.
func (x *indexer) unpack(ctx context.Context, offset int64) ([]byte, error) {
	h, err := x.scanner.SeekObjectHeader(offset)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(int(h.Length) + bytes.MinRead)
	err = x.read(ctx, h, &out, nil)
	return out.Bytes(), err
}

// apply applies a delta to its base and hashes the result. It returns the result if other deltas may build on it.
func (x *indexer) apply(ctx context.Context, number int32, base []byte, kind plumbing.ObjectType) (result []byte,
	err error) {
	e := &x.entries[number]
	delta, err := x.unpack(ctx, e.offset)
	if err != nil {
		return nil, err
	}
	hasher := plumbing.NewHasher(kind, e.size)
	to := io.Writer(hasher)
	var out bytes.Buffer
	if len(x.deltas[number]) > 0 || len(x.refDeltas) > 0 {
		out.Grow(int(e.size))
		to = io.MultiWriter(hasher, &out)
	}
	if err := patch(&contextWriter{ctx, to}, base, delta, e.size); err != nil {
		return nil, err
	}
	e.kind, e.hash = kind, hasher.Sum()
	x.resolved++
	if !x.hasDeltas(number) {
		return nil, nil
	}
	return out.Bytes(), nil
}

var errBadDelta = errors.New("a delta is malformed")

// patch applies a delta to a base and writes the result: see "Deltified representation" in gitformat-pack(5).
func patch(to io.Writer, base, delta []byte, size int64) error {
	var start deltaStart
	_, _ = start.Write(delta)
	baseSize, _, headers := start.parse()
	if baseSize != int64(len(base)) {
		return errBadDelta
	}
	for delta = delta[headers:]; len(delta) > 0; {
		var part []byte
		part, delta = instruction(base, delta)
		if len(part) == 0 || int64(len(part)) > size {
			return errBadDelta
		}
		size -= int64(len(part))
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	if size != 0 {
		return errBadDelta
	}
	return nil
}

// instruction returns the output of the first instruction of a delta, and the rest of the delta. The output is empty if
// the instruction is malformed.
func instruction(base, delta []byte) (part, rest []byte) {
	op := delta[0]
	delta = delta[1:]
	if op&0x80 == 0 { // insert the next bytes
		if int(op) > len(delta) {
			return nil, nil
		}
		return delta[:op], delta[op:]
	}
	var argument [7]int // copy from the base: four bytes of offset, three of size; zero bytes are omitted
	for i := range argument {
		if op&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return nil, nil
		}
		argument[i], delta = int(delta[0]), delta[1:]
	}
	offset := argument[0] | argument[1]<<8 | argument[2]<<16 | argument[3]<<24
	size := argument[4] | argument[5]<<8 | argument[6]<<16
	if size == 0 {
		size = 0x10000
	}
	if offset+size > len(base) {
		return nil, nil
	}
	return base[offset : offset+size], delta
}
