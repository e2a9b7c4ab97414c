// Package testworker makes the program of a test the worker that the test starts: one that renders charts, or decrypts.
package testworker

import (
	"io"
	"os"
	"testing"
)

// variable is set in the environment of the worker.
const variable = "AGENTRY_TEST_WORKER"

// Main is for TestMain: it serves if this process is a worker, and runs the tests if it is not. It does not return.
func Main(m *testing.M, serve func(in io.Reader, out io.Writer) int) {
	if os.Getenv(variable) != "" {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// Command is the command that starts this program.
func Command() []string { return []string{os.Args[0]} }

// Env is what the command needs in its environment, in addition to others, to be a worker.
func Env(others ...string) []string { return append(others, variable+"=1") }
