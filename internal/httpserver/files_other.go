//go:build !unix

package httpserver

// maxFiles returns how many files the process may have open; 0 if that is unknown.
func maxFiles() int { return 0 }
