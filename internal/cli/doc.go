// Package cli is the agentry command line: it takes flags, and returns output and an exit code.
//
// Users write scripts for it, so names, output on stdout and exit codes are stable. Data goes to stdout,
// everything else to stderr. A command gathers its input, calls one package that does the work, and prints the
// result. It makes no decisions itself.
package cli

//go:generate go test . -run TestManualIsUpToDate -update
