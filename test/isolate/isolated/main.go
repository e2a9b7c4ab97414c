// Command isolated runs a program in namespaces of its own, for tests in modules that cannot import
// package isolate:
//
//	isolated -network -processes PROGRAM [ARGUMENT...]
//
// PROGRAM is a path. The exit code is the program's.
package main

import (
	"flag"
	"fmt"
	"os"
	"syscall"

	"github.com/agentry-dev/agentry/test/isolate"
)

func main() {
	var n isolate.Namespaces
	flag.BoolVar(&n.Network, "network", false, "a network in which every address of 10.0.0.0/8 is this host")
	flag.BoolVar(&n.Mounts, "mounts", false, "mounts that nobody else sees")
	flag.BoolVar(&n.Processes, "processes", false, "processes that end with the program")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	os.Exit(isolate.Main(n, func() int {
		err := syscall.Exec(flag.Arg(0), flag.Args(), os.Environ())
		fmt.Fprintf(os.Stderr, "run %s: %v\n", flag.Arg(0), err)
		return 1
	}))
}
