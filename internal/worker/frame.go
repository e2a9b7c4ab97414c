package worker

import (
	"encoding/binary"
	"errors"
	"io"
)

// Answer is the kind of the frame that answers a question, and reply of the one that answers a worker's message. All
// other kinds are the program's own.
const (
	Answer byte = 'd'
	reply  byte = 'a'
)

// Exit codes of a worker.
const (
	exitDone   = 0
	exitBroken = 70 // the pipe to the parent failed
	exitMemory = 71 // the memory limit was exceeded
	exitOutput = 72 // the output limit was exceeded
	exitBusy   = 73 // the limit of processor time was exceeded
)

// MaxQuestionBytes limits the size of a question.
const MaxQuestionBytes = 256 << 20

// ErrTooLong means that a frame exceeds the limit.
var ErrTooLong = errors.New("more bytes than the limit")

// write writes a frame in one call.
func write(w io.Writer, kind byte, data []byte) error {
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	_, err := w.Write(append(head, data...))
	return err
}

// read reads a frame of at most limit bytes.
func read(r io.Reader, limit int64) (kind byte, data []byte, err error) {
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
