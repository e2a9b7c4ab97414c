package alive

import (
	"fmt"
	"syscall"
)

// attributes let a process die with the tests, however these end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// replaceHosts mounts a file of names over the system's, in the mount namespace of the tests.
func replaceHosts(hosts string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the mounts of others alone: %w", err)
	}
	return syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, "")
}
