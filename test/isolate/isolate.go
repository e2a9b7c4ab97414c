// Package isolate runs a program in namespaces of the kernel's that are its own, so that tests can
// have addresses, mounts and processes that nobody else sees, without any rights. It needs Linux.
//
// Programs of other modules cannot import it without getting the libraries of agentry. They run the
// program isolated, which is beside this file.
package isolate

import (
	"fmt"
	"os"
)

// Namespaces are those that a program gets. It is root of a user namespace in any case.
type Namespaces struct {
	// Network has the loopback device alone. Every address of 10.0.0.0/8 is this host, and nothing
	// else can be reached. Main prepares it.
	Network bool
	// Mounts begin as those outside.
	Mounts bool
	// Processes end with the program.
	Processes bool
}

// inside is set in the environment of the program that runs in the namespaces.
const inside = "AGENTRY_ISOLATED"

// Inside reports whether this program runs in namespaces of its own.
func Inside() bool { return os.Getenv(inside) != "" }

// Main runs main in namespaces of its own: it runs this program once more in them. It returns the
// exit code. Where the kernel refuses, it prints what to allow, and returns 1.
func Main(n Namespaces, main func() int) int {
	if !Inside() {
		code, err := Rerun(n)
		if err != nil {
			return refused(err)
		}
		return code
	}
	if n.Network {
		if err := raiseLoopback(); err != nil {
			return refused(err)
		}
	}
	return main()
}

func refused(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
