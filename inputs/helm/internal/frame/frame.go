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
	Texts    = 'x' // to the worker: execute these
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

// Strings is a map that keeps its type on the way.
type Strings map[string]string

// types are those that a value keeps where any type may stand.
func types() (cbor.TagSet, error) {
	const ours = 53_001 // a number that nobody has registered
	set := cbor.NewTagSet()
	err := set.Add(cbor.TagOptions{DecTag: cbor.DecTagOptional, EncTag: cbor.EncTagRequired}, reflect.TypeFor[Strings](), ours)
	return set, err
}

// Write writes a frame at once.
func Write(w io.Writer, kind byte, value any) error {
	set, err := types()
	if err != nil {
		return err
	}
	mode, err := cbor.EncOptions{}.EncModeWithTags(set)
	if err != nil {
		return err
	}
	data, err := mode.Marshal(value)
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
	set, err := types()
	if err != nil {
		return err
	}
	mode, err := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		MaxMapPairs: 1 << 20, MaxArrayElements: 1 << 20, MaxNestedLevels: 256,
	}.DecModeWithTags(set)
	if err != nil {
		return err
	}
	return mode.Unmarshal(data, into)
}
