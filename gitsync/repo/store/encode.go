package store

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"hash/crc32"
	"net"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// Object is an object to pack.
type Object struct {
	Hash    plumbing.Hash
	Kind    plumbing.ObjectType
	Content []byte
	// Deflated, if not nil, is the content of Size bytes as [Deflate] returns it, and Content is nil.
	Deflated []byte
	Size     int
}

// deflaters are reused, because a new one needs more memory than most objects.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // cannot fail: the level is valid
	return z
}}

// Deflate compresses a content as a pack has it.
func Deflate(content []byte) []byte {
	var out bytes.Buffer
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&out)
	_, _ = z.Write(content) // a bytes.Buffer never fails
	_ = z.Close()
	return bytes.Clone(out.Bytes()) // without the buffer's spare room
}

// Packed is a pack in memory. It shares the bytes of deflated objects.
type Packed struct {
	// Parts are the pack, one after the other.
	Parts net.Buffers

	index *idxfile.MemoryIndex
}

// Empty reports whether the pack holds no objects.
func (p Packed) Empty() bool {
	n, err := p.index.Count()
	return err == nil && n == 0
}

// maxObjectHeader is the most bytes of the header of an object in a pack: four bits of its size, then seven each.
const maxObjectHeader = 1 + (64-4+6)/7

// Encode packs objects without deltas, because pushed packs are small. go-git's encoder would search for deltas or
// read every object twice.
func Encode(objects []Object) (Packed, error) {
	index := &idxfile.Writer{}
	if err := index.OnHeader(uint32(len(objects))); err != nil {
		return Packed{}, err
	}
	parts := make(net.Buffers, 0, 2*len(objects)+2)
	sum, offset := sha1.New(), 0
	add := func(part []byte) {
		_, _ = sum.Write(part) // never fails
		parts, offset = append(parts, part), offset+len(part)
	}
	add(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects))))
	headers := make([]byte, 0, len(objects)*maxObjectHeader) // in one piece
	for _, o := range objects {
		size, deflated := o.Size, o.Deflated
		if deflated == nil {
			size, deflated = len(o.Content), Deflate(o.Content)
		}
		start, first := offset, len(headers)
		headers = appendObjectHeader(headers, o.Kind, size)
		header := headers[first:]
		add(header)
		add(deflated)
		index.Add(o.Hash, uint64(start), crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, deflated))
	}
	end := plumbing.Hash(sum.Sum(nil))
	parts = append(parts, end[:])
	if err := index.OnFooter(end); err != nil {
		return Packed{}, err
	}
	idx, err := index.Index()
	return Packed{parts, idx}, err
}

// appendObjectHeader appends type and size: the four lowest bits of the size with the type, then seven bits in each
// further byte.
func appendObjectHeader(out []byte, kind plumbing.ObjectType, size int) []byte {
	b := byte(kind)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
	}
	return append(out, b)
}
