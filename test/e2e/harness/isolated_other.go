//go:build !linux

package harness

import (
	"fmt"
	"os"
)

func isInside() bool { return false }

func isolated(func() int) int {
	fmt.Fprintln(os.Stderr, "e2e: the suites need namespaces, which only Linux has: run them in a container or a virtual machine")
	return 1
}
