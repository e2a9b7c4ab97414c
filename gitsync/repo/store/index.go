package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// Limits bound a received pack, because even a small pack can unpack to any number of bytes.
type Limits struct {
	// PackBytes limits the pack.
	PackBytes int64
	// ObjectBytes limits an object. Deltas and the objects that they build on, which are unpacked into memory, may
	// have half as many bytes.
	ObjectBytes int64
	// AllBytes limits the unpacked size of all objects together.
	AllBytes int64
	// Work waits until that many bytes of memory may be used: see budget.Budget. Nil does not wait.
	Work func(ctx context.Context, bytes int64) (done func(), err error)
}

const (
	// maxObjects limits the number of objects in a pack.
	maxObjects = 2_000_000
	// maxChain limits the length of a chain of deltas, as in Git.
	maxChain = 4095
	// bytesPerEntry is the estimated memory for indexing an object.
	bytesPerEntry = 160
)

// entry is an object of the pack.
type entry struct {
	offset int64
	size   int64 // of the object; for a delta, the size of its result
	hash   plumbing.Hash
	crc    uint32
	kind   plumbing.ObjectType // for a delta, the type of the object at the end of its chain
	below  int32               // the number of deltas above it, not counting references by hash
}

// indexer indexes a pack. It unpacks each object once, and keeps as few delta bases in memory as possible. It ends when
// its context does.
type indexer struct {
	limits  Limits
	scanner *packfile.Scanner
	entries []entry // sorted by offset
	whole   []int32 // the entries that are not deltas
	// deltas maps an entry to the deltas that build on it, refDeltas the hash of an object to the deltas that name it.
	deltas    map[int32][]int32
	refDeltas map[plumbing.Hash][]int32

	all, largest int64 // the bytes of all objects, and of the largest delta or result of a delta
	resolved     int   // the number of deltas whose hash is known
	held         int64 // the bytes of the objects in memory
}

// index makes the index of a pack. Errors are limit.ErrTooLarge, [ErrBadPack], or the cause of the end of ctx.
func index(ctx context.Context, file *os.File, limits Limits) (*idxfile.MemoryIndex, error) {
	x := &indexer{limits: limits, scanner: packfile.NewScanner(file), deltas: map[int32][]int32{},
		refDeltas: map[plumbing.Hash][]int32{}}
	checksum, err := x.scan(ctx)
	if err != nil {
		return nil, x.explain(ctx, err)
	}
	if x.limits.Work != nil {
		done, err := x.limits.Work(ctx, 2*x.largest+bytesPerEntry*int64(len(x.entries)))
		if err != nil {
			return nil, err
		}
		defer done()
	}
	if err := x.resolveAll(ctx); err != nil {
		return nil, x.explain(ctx, err)
	}
	writer := &idxfile.Writer{}
	_ = writer.OnHeader(uint32(len(x.entries))) // it only allocates and cannot fail
	for _, e := range x.entries {
		writer.Add(e.hash, uint64(e.offset), e.crc)
	}
	if err := writer.OnFooter(checksum); err != nil {
		return nil, err
	}
	return writer.Index()
}

// explain converts an error of go-git's parser.
func (x *indexer) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, limit.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrBadPack, err)
}

// scan reads the pack from start to end. It hashes all objects except deltas, and returns the checksum of the pack.
func (x *indexer) scan(ctx context.Context) (checksum plumbing.Hash, err error) {
	_, count, err := x.scanner.Header()
	if err != nil {
		return checksum, err
	}
	if count > maxObjects {
		return checksum, fmt.Errorf("%w: the pack has %d objects, at most %d are allowed", limit.ErrTooLarge, count,
			maxObjects)
	}
	for range count {
		h, err := x.scanner.NextObjectHeader()
		if err != nil {
			return checksum, err
		}
		if err := x.scanObject(ctx, h); err != nil {
			return checksum, err
		}
	}
	for i := len(x.entries) - 1; i >= 0; i-- { // backwards, because a delta comes after its base
		for _, d := range x.deltas[int32(i)] {
			x.entries[i].below += x.entries[d].below + 1
		}
	}
	if checksum, err = x.scanner.Checksum(); err != nil && err != io.EOF {
		return checksum, err
	}
	return checksum, nil
}

// scanObject reads the object after a header.
func (x *indexer) scanObject(ctx context.Context, h *packfile.ObjectHeader) error {
	e := entry{offset: h.Offset, size: h.Length, kind: h.Type}
	if h.Type.IsDelta() {
		return x.scanDelta(ctx, h, e)
	}
	if err := x.admit(h.Length, x.limits.ObjectBytes); err != nil {
		return err
	}
	hasher := plumbing.NewHasher(h.Type, h.Length)
	if err := x.read(ctx, h, hasher, &e.crc); err != nil {
		return err
	}
	e.hash = hasher.Sum()
	x.whole, x.entries = append(x.whole, int32(len(x.entries))), append(x.entries, e)
	return nil
}

func (x *indexer) scanDelta(ctx context.Context, h *packfile.ObjectHeader, e entry) error {
	var start deltaStart
	if err := x.admit(h.Length, x.limits.ObjectBytes/2); err != nil {
		return err
	}
	if err := x.read(ctx, h, &start, &e.crc); err != nil {
		return err
	}
	var base int64
	base, e.size = start.sizes()
	for _, size := range []int64{base, e.size} {
		if err := x.admit(size, x.limits.ObjectBytes/2); err != nil {
			return err
		}
		x.largest = max(x.largest, size)
	}
	x.largest = max(x.largest, h.Length)
	number := int32(len(x.entries))
	if h.Type == plumbing.REFDeltaObject {
		x.refDeltas[h.Reference] = append(x.refDeltas[h.Reference], number)
	} else {
		i, found := slices.BinarySearchFunc(x.entries, h.OffsetReference, func(e entry, offset int64) int {
			return cmp.Compare(e.offset, offset)
		})
		if !found {
			return errors.New("a delta has no base")
		}
		x.deltas[int32(i)] = append(x.deltas[int32(i)], number)
	}
	x.entries = append(x.entries, e)
	return nil
}

// admit counts the bytes of an object before they are unpacked.
func (x *indexer) admit(size, most int64) error {
	switch x.all += max(0, size); {
	case size < 0:
		return errors.New("a delta has no size")
	case size > most:
		return fmt.Errorf("%w: an object of the pack has %d bytes, at most %d are allowed", limit.ErrTooLarge, size,
			most)
	case x.all > x.limits.AllBytes:
		return fmt.Errorf("%w: the pack unpacks to more than %d bytes", limit.ErrTooLarge, x.limits.AllBytes)
	}
	return nil
}

// read unpacks the object after a header.
func (x *indexer) read(ctx context.Context, h *packfile.ObjectHeader, to io.Writer, crc *uint32) error {
	n, sum, err := x.scanner.NextObject(&contextWriter{ctx, to})
	if err == nil && n != h.Length {
		err = fmt.Errorf("an object has %d bytes, not %d", n, h.Length)
	}
	if crc != nil {
		*crc = sum
	}
	return err
}

// contextWriter is a writer that fails once its context has ended.
type contextWriter struct {
	ctx context.Context // of one call of index: Write takes none
	io.Writer
}

// Write implements [io.Writer].
func (w *contextWriter) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.Writer.Write(p)
}
