// Package panics turns panics into errors, so that a bug in agentry ends the current work and not the process.
//
// A panic's value can contain a secret, and so can the arguments of the functions on the stack. An [Error] therefore
// keeps only a message of the Go runtime itself, or the value's type, and the stack as function names and lines.
package panics

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// Error is a panic.
type Error struct {
	// Value is the type of the panic's value, or the message of the Go runtime.
	Value string
	// Stack has the functions on the stack, with files and lines.
	Stack string

	cause error // see [Because]
}

// Because returns the value to panic with where an error stops the work and no function on the way returns one. It is
// no bug: [Of] gives the error back, and [Is] does not report it.
func Because(err error) *Error { return &Error{cause: err} }

// Error returns the same text for all bugs; the log has the rest.
func (e *Error) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return "stopped by a bug in agentry, which its log describes: please report it"
}

// Unwrap returns the error of [Because].
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether an error was a panic for a bug.
func Is(err error) bool {
	known, is := errors.AsType[*Error](err)
	return is && known.cause == nil
}

// Of turns a recovered value into an error. It must be called in the deferred function that recovers, while the stack
// still exists.
func Of(value any) *Error {
	if known, ok := value.(*Error); ok {
		return known // from a worker of Each
	}
	out := &Error{Value: fmt.Sprintf("%T", value), Stack: stack()}
	if known, ok := value.(runtime.Error); ok {
		out.Value = known.Error()
	}
	return out
}

// Recover logs a panic and stores it in err. It must be deferred directly.
func Recover(log *slog.Logger, during, of string, err *error) {
	value := recover()
	if value == nil {
		return
	}
	if logged := Log(log, during, of, value); err != nil {
		*err = logged
	}
}

// Log logs a panic, and returns it as an error. It must be called like [Of].
func Log(log *slog.Logger, during, of string, value any) error {
	err := Of(value)
	log.Error("panic", "during", during, "of", of, "value", err.Value, "stack", err.Stack)
	return err
}

// maxFrames limits the functions of a stack.
const maxFrames = 64

func stack() string {
	callers := make([]uintptr, maxFrames)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // without Callers, stack and Of
	var out strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&out, "%s\n\t%s:%d\n", frame.Function, frame.File, frame.Line)
		if !more {
			return out.String()
		}
	}
}

// Each calls f for 0 to n-1 on all processors. If a call panics, the calls that have not begun are skipped, and Each
// panics with an *[Error]: a panic in another goroutine would end the process.
func Each(n int, f func(i int)) {
	var next atomic.Int64
	var failed atomic.Pointer[Error]
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		running.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					failed.Store(Of(value))
				}
			}()
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		panic(err)
	}
}
