// Package cli is the agentry command: flags in, output and an exit code out.
//
// Users script against it, so names, output on stdout and exit codes are stable. Data
// goes to stdout, everything else to stderr. A command gathers its input, calls one
// package that does the work, and prints; it decides nothing itself.
package cli

//go:generate go test . -run TestManualIsUpToDate -update
