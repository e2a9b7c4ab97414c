package roots

import (
	"fmt"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Chain is a custom resource that asks for a root, and the one in whose result it is, if any.
type Chain struct {
	Of string // what it builds, whatever its own name is
	By *Chain
}

// maxRepeats limits how often one thing may be built in a chain. Charts of Applications may well be nested.
const maxRepeats = 4

// IsEndless reports whether the chain leads to what it ends with again and again, each time by a custom resource of
// another name.
func (c *Chain) IsEndless() bool {
	repeats := 0
	for by := c; by != nil; by = by.By {
		if by.Of == c.Of {
			repeats++
		}
	}
	return repeats > maxRepeats
}

// Endless is the problem of custom resources of some kinds in a chain without end.
func Endless(kinds string) *diag.Diagnostic {
	message := fmt.Sprintf("%[1]s lead to more %[1]s without end", kinds)
	return new(diag.BuildRefused.At("", "%s", message).Because(diag.Cause{Things: kinds, Of: kinds, Reason: message,
		Problem: "are not built, because there is no end to them",
		Hint:    "correct the one that leads to itself under another name, or name a path with fewer of them"}))
}
