package repo

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"hash/crc32"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// packBytes writes objects as a pack without deltas, and its index. go-git's
// encoder would look for deltas or read every object twice; what we send is
// small, and new.
func (w *Writer) packBytes(hashes []plumbing.Hash) ([]byte, *idxfile.MemoryIndex, error) {
	var out bytes.Buffer
	out.WriteString("PACK")
	_ = binary.Write(&out, binary.BigEndian, [2]uint32{2, uint32(len(hashes))}) // a buffer takes all
	index := &idxfile.Writer{}
	if err := index.OnHeader(uint32(len(hashes))); err != nil {
		return nil, nil, err
	}
	z, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range hashes {
		start := out.Len()
		o := w.objects[h]
		writeObjectHeader(&out, o.kind, len(o.content))
		z.Reset(&out)
		if _, err := z.Write(o.content); err != nil {
			return nil, nil, err
		}
		if err := z.Close(); err != nil {
			return nil, nil, err
		}
		index.Add(h, uint64(start), crc32.ChecksumIEEE(out.Bytes()[start:]))
	}
	sum := sha1.Sum(out.Bytes())
	out.Write(sum[:])
	if err := index.OnFooter(sum); err != nil {
		return nil, nil, err
	}
	idx, err := index.Index()
	return out.Bytes(), idx, err
}

// writeObjectHeader writes type and size: four bits of the size with the type,
// seven in each further byte, the lowest first.
func writeObjectHeader(out *bytes.Buffer, kind plumbing.ObjectType, size int) {
	b := byte(kind)<<4 | byte(size&0x0f)
	for size >>= 4; size > 0; size >>= 7 {
		out.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	out.WriteByte(b)
}
