//go:build !linux

package rig

import (
	"fmt"
	"os"
)

// Isolated is for Linux only.
func Isolated(func() int) int {
	fmt.Fprintln(os.Stderr, "fake pods need a network namespace, which only Linux has: run this in a container or a virtual machine")
	return 1
}
