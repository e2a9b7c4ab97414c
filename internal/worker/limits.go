package worker

import "time"

// Limits bound one question.
type Limits struct {
	// Time is for all of it. Default: 30s.
	Time time.Duration
	// MemoryBytes is what a worker may use. Default: 768 MiB.
	MemoryBytes int64
	// OutputBytes is what the answer may hold. Default: 32 MiB.
	OutputBytes int64
}

const (
	defaultTime   = 30 * time.Second
	defaultMemory = 768 << 20
	defaultOutput = 32 << 20
)

// WithDefaults sets what is not set.
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

// Reason is why a process was given up.
type Reason int

// The reasons. A process that ends by itself most often needed more memory than the system gave it.
const (
	Memory Reason = iota
	Late
	Output
)

// Broken is the error of a question in which a process broke a limit.
type Broken struct {
	Reason Reason
	Limits Limits
}

// Error implements error.
func (b *Broken) Error() string {
	switch b.Reason {
	case Late:
		return "takes longer than " + b.Limits.Time.String()
	case Output:
		return "gives more than " + mebibytes(b.Limits.OutputBytes)
	}
	return "needs more than " + mebibytes(b.Limits.MemoryBytes) + " of memory"
}

// Missing is the error of a question for which the program is not installed.
type Missing struct{ Program string }

// Error implements error.
func (m *Missing) Error() string {
	return "the program " + m.Program + " is not there: install it beside agentry"
}
