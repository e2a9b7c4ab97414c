// Package frame is what agentry and the processes that render charts say to each other: frames of a byte that says what it
// is, four bytes of length, and a value in CBOR, which unlike JSON knows 1 from 1.0, as templates do.
package frame

import (
	"encoding/binary"
	"errors"
	"io"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Kinds of frames.
const (
	Release  = 'r' // to the worker: render this
	Template = 't' // from the worker: this template begins
	Answer   = 'd' // from the worker: what became of the release
)

// Exit codes of a worker.
const (
	ExitDone   = 0
	ExitBroken = 70 // the pipe to the parent
	ExitMemory = 71 // more memory than the limit
	ExitOutput = 72 // more output than the limit
)

// MaxReleaseBytes bounds a chart with its values, on the way to a worker.
const MaxReleaseBytes = 256 << 20

// ErrTooLong means that a frame has more bytes than the limit.
var ErrTooLong = errors.New("more bytes than the limit")

// Write writes a frame at once.
func Write(w io.Writer, kind byte, value any) error {
	data, err := cbor.Marshal(value)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	_, err = w.Write(append(head, data...))
	return err
}

// Read reads a frame of at most limit bytes.
func Read(r io.Reader, limit int64) (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[1:]))
	if size > limit {
		return 0, nil, ErrTooLong
	}
	data = make([]byte, size)
	_, err = io.ReadFull(r, data)
	return head[0], data, err
}

// Decode reads the value of a frame.
func Decode(data []byte, into any) error {
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		MaxMapPairs: 1 << 20, MaxArrayElements: 1 << 20, MaxNestedLevels: 256,
	}.DecMode()
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, into)
}
