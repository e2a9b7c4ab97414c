//go:build !linux

package harness

import (
	"errors"
	"os/exec"
)

func (of Container) start(*exec.Cmd) error { return errors.New("only Linux has mount namespaces") }
