package worker

import (
	"encoding/binary"
	"time"
)

// Limits limit one question.
type Limits struct {
	// Time limits the whole question. Default: 30s.
	Time time.Duration
	// CPU limits the processor time that the worker spends on it. Default: no limit.
	CPU time.Duration
	// MemoryBytes limits the memory of a worker. Default: 768 MiB.
	MemoryBytes int64
	// OutputBytes limits the answer. Default: 32 MiB.
	OutputBytes int64
}

const (
	defaultTime   = 30 * time.Second
	defaultMemory = 768 << 20
	defaultOutput = 32 << 20
)

// WithDefaults returns the limits with defaults for unset ones.
func (l Limits) WithDefaults() Limits {
	if l.Time == 0 {
		l.Time = defaultTime
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = defaultMemory
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = defaultOutput
	}
	return l
}

// headBytes is the size of the limits that the worker itself watches, before the data of a question.
const headBytes = 16

// head writes the limits that the worker itself watches.
func (l Limits) head() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(l.CPU)), uint64(l.MemoryBytes))
}

// parseHead reads what head writes.
func parseHead(data []byte) (l Limits, ok bool) {
	if len(data) < headBytes {
		return l, false
	}
	l.CPU = time.Duration(binary.BigEndian.Uint64(data))
	l.MemoryBytes = int64(binary.BigEndian.Uint64(data[8:]))
	return l, true
}

// Reason says which limit a process exceeded.
type Reason int

// The reasons. A process that somebody else killed counts as Killed: most often the system had no more memory for it.
const (
	Killed Reason = iota
	Memory
	Late
	Busy
	Output
	// Inherited says that [Limits.CPU] is a limit of whoever started this program, as with ulimit -t.
	Inherited
)

// Broken is the error of a question that made a process exceed a limit.
type Broken struct {
	Reason Reason
	Limits Limits
}

// Error implements error.
func (b *Broken) Error() string {
	switch b.Reason {
	case Killed:
		return "needs more memory than there is"
	case Late:
		return "takes longer than " + b.Limits.Time.String()
	case Busy:
		return "takes more than " + b.Limits.CPU.String() + " of processor time"
	case Inherited:
		return "takes more than the " + b.Limits.CPU.String() + " of processor time that ulimit -t allows"
	case Output:
		return "produces more than " + mebibytes(b.Limits.OutputBytes)
	}
	return "needs more than " + mebibytes(b.Limits.MemoryBytes) + " of memory"
}

// Missing is the error of a question if the program is not installed.
type Missing struct{ Program string }

// Error implements error.
func (m *Missing) Error() string {
	return "the program " + m.Program + " is not there: install it beside agentry"
}
