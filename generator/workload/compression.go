package workload

import (
	"bytes"
	"compress/gzip"
	"sync"
)

// compression compresses a text while it is printed, which takes less time. It does so like the operator: gzip, default
// level, no name, no time. How the text comes in parts changes nothing.
type compression struct {
	// above is the size that a text must have to be compressed.
	above int

	begun  int         // how much of the text is in parts
	parts  chan []byte // nil before the first one, and after the last one
	result chan []byte
}

// soFar takes the beginning of the text, which may grow but not change.
func (z *compression) soFar(text []byte) {
	if len(text) <= z.above {
		return
	}
	if z.parts == nil {
		z.parts, z.result = make(chan []byte, 16), make(chan []byte, 1)
		go compress(z.parts, z.result)
	}
	z.parts <- text[z.begun:]
	z.begun = len(text)
}

// compressed returns the whole text compressed. It is longer than above.
func (z *compression) compressed(text []byte) []byte {
	z.soFar(text)
	z.end()
	return <-z.result
}

// end frees what the compression holds, also if the text was never complete.
func (z *compression) end() {
	if z.parts != nil {
		close(z.parts)
		z.parts = nil
	}
}

func compress(parts <-chan []byte, result chan<- []byte) {
	var buf bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&buf)
	for part := range parts {
		_, _ = w.Write(part) // a bytes.Buffer never fails
	}
	_ = w.Close()
	result <- buf.Bytes()
}

// gzipWriters are reused, because a new writer needs almost a megabyte, more than the text that it compresses.
var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
