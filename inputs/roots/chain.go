package roots

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
