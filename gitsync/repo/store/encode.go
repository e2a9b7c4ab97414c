package store

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"hash/crc32"
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
	deflate(&out, content)
	return bytes.Clone(out.Bytes()) // without the buffer's spare room
}

func deflate(out *bytes.Buffer, content []byte) {
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(out)
	_, _ = z.Write(content) // a bytes.Buffer never fails
	_ = z.Close()
}

// Packed is a pack in memory.
type Packed struct {
	Bytes []byte

	index *idxfile.MemoryIndex
}

// Empty reports whether the pack holds no objects.
func (p Packed) Empty() bool {
	n, err := p.index.Count()
	return err == nil && n == 0
}

// Encode packs objects without deltas, because pushed packs are small. go-git's encoder would search for deltas or
// read every object twice.
func Encode(objects []Object) (Packed, error) {
	var out bytes.Buffer
	out.Grow(packBytes(objects))
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, [2]uint32{2, uint32(len(objects))}) // writing to a buffer never fails
	index := &idxfile.Writer{}
	if err := index.OnHeader(uint32(len(objects))); err != nil {
		return Packed{}, err
	}
	for _, o := range objects {
		start := out.Len()
		if o.Deflated != nil {
			writeObjectHeader(&out, o.Kind, o.Size)
			out.Write(o.Deflated)
		} else {
			writeObjectHeader(&out, o.Kind, len(o.Content))
			deflate(&out, o.Content)
		}
		index.Add(o.Hash, uint64(start), crc32.ChecksumIEEE(out.Bytes()[start:]))
	}
	sum := sha1.Sum(out.Bytes())
	out.Write(sum[:])
	if err := index.OnFooter(sum); err != nil {
		return Packed{}, err
	}
	idx, err := index.Index()
	return Packed{out.Bytes(), idx}, err
}

// packBytes estimates the size of a pack. Most of a large one is deflated already.
func packBytes(objects []Object) (size int) {
	const perObject = 64
	for i := range objects {
		size += perObject + len(objects[i].Deflated) + len(objects[i].Content)/2
	}
	return size
}

// writeObjectHeader writes type and size: the four lowest bits of the size with the type, then seven bits in each
// further byte.
func writeObjectHeader(out *bytes.Buffer, kind plumbing.ObjectType, size int) {
	b := byte(kind)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	out.WriteByte(b)
}
