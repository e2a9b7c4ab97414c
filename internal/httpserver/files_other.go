//go:build !unix

package httpserver

// maxFiles returns how many files the process may open, or 0 if unknown.
func maxFiles() int { return 0 }
