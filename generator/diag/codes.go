package diag

// Code identifies a kind of problem for ever: users filter, count and link by it.
// Codes are lower-case words joined by dashes and are never reused or renamed.
type Code string

// Info documents a code; docs/diagnostics.md is generated from it.
type CodeInfo struct {
	Code    Code
	Summary string // one sentence: what was found
	Help    string // what it means for the output, and the way out
}
