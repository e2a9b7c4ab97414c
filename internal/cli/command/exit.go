package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/panics"
)

// Exit codes.
const (
	ExitDone        = 0   // done, even if nothing changed
	ExitFindings    = 1   // finished, with errors in the input
	ExitUsage       = 2   // wrong usage or configuration
	ExitRepository  = 3   // could not reach or write a repository
	ExitInterrupted = 130 // as shells report SIGINT
)

// ReportedError is an exit code whose reason has been printed.
type ReportedError int

// ErrFindings ends a command that finished, and printed errors in the input.
const ErrFindings = ReportedError(ExitFindings)

// Error implements error.
func (e ReportedError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line, with a hint.
type usageError struct {
	message, hint string
}

// Error implements error.
func (e usageError) Error() string { return e.message }

// Usagef returns a usage error with a hint, which may be empty.
func Usagef(hint, format string, args ...any) error {
	return usageError{message: fmt.Sprintf(format, args...), hint: hint}
}

// repositoryError is a failure to reach or write a repository.
type repositoryError struct {
	err  error
	hint string
}

// RepositoryError marks a failure to reach or write a repository, with a hint, which may be empty.
func RepositoryError(err error, hint string) error { return repositoryError{err, hint} }

// Error implements error.
func (e repositoryError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e repositoryError) Unwrap() error { return e.err }

// Misconfigured ends a command with what is wrong with a pipeline or a test. It is a usage error.
type Misconfigured struct {
	Found diag.List
	// Print prints Found for people.
	Print func(w io.Writer) error
}

// Error implements error.
func (e *Misconfigured) Error() string { return "the configuration has errors" }

// ExitCode returns the exit code for the error of a command, and prints the error.
func ExitCode(ctx context.Context, stderr io.Writer, err error) int {
	if err == nil {
		return ExitDone
	}
	if reported, ok := errors.AsType[ReportedError](err); ok {
		return int(reported)
	}
	if wrong, ok := errors.AsType[*Misconfigured](err); ok {
		if err = wrong.Print(stderr); err == nil {
			return ExitUsage
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "agentry: interrupted")
		return ExitInterrupted
	}
	fmt.Fprintln(stderr, "agentry:", diag.Plain(err.Error()))
	code := ExitUsage
	if _, ok := errors.AsType[repositoryError](err); ok {
		code = ExitRepository
	}
	if hint := Hint(err); hint != "" {
		fmt.Fprintln(stderr, "hint:", diag.Plain(hint))
	}
	if f, ok := errors.AsType[*panics.Error](err); ok && panics.Is(err) {
		fmt.Fprintf(stderr, "panic: %s\n%s", f.Value, f.Stack)
	}
	return code
}

// Hint returns the hint of an error, or nothing.
func Hint(err error) string {
	if r, ok := errors.AsType[repositoryError](err); ok {
		return r.hint
	}
	if u, ok := errors.AsType[usageError](err); ok {
		return u.hint
	}
	return ""
}
