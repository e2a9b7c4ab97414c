//go:build !linux

package isolate

import "errors"

var errNotLinux = errors.New("only Linux has namespaces: run this in a container or a virtual machine")

// Rerun fails, because only Linux has namespaces.
func Rerun(Namespaces) (int, error) { return 0, errNotLinux }

func raiseLoopback() error { return errNotLinux }
