package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Exit codes.
const (
	exitDone        = 0   // done, also when nothing changed
	exitFindings    = 1   // finished, with errors in the input
	exitUsage       = 2   // wrong usage or configuration
	exitRepository  = 3   // could not reach or write a repository
	exitInterrupted = 130 // as shells report SIGINT
)

// toldError is an exit code whose reason the user has been told.
type toldError int

// errFindings ends a command that finished and printed errors in the input.
const errFindings = toldError(exitFindings)

// Error implements error.
func (e toldError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line, with what to do about it.
type usageError struct {
	message, hint string
}

// Error implements error.
func (e usageError) Error() string { return e.message }

func usagef(hint, format string, args ...any) error {
	return usageError{message: fmt.Sprintf(format, args...), hint: hint}
}

// repositoryError is a failure to reach or write a repository.
type repositoryError struct {
	err  error
	hint string
}

// Error implements error.
func (e repositoryError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e repositoryError) Unwrap() error { return e.err }

// exitCode maps the error of a command to its exit code, and tells the user about it.
func exitCode(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	if told, ok := errors.AsType[toldError](err); ok {
		return int(told)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "agentry: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "agentry:", err)
	code, hint := exitUsage, ""
	if u, ok := errors.AsType[usageError](err); ok {
		hint = u.hint
	}
	if r, ok := errors.AsType[repositoryError](err); ok {
		code, hint = exitRepository, r.hint
	}
	if hint != "" {
		fmt.Fprintln(stderr, "hint:", hint)
	}
	return code
}
