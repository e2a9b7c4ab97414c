package alive

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// runIsolated runs these tests once more, in namespaces of their own: as root of a user
// namespace, so that they need no rights. It returns the exit code.
func runIsolated(env []string) int {
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Env = env
	again.Stdout, again.Stderr = os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // It is the end of the thread, not of the process, that the signal tells of.
	err := again.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1) // A signal has none.
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run the tests in namespaces of their own:", err)
		return 1
	}
	return 0
}

// isolate makes the namespaces ready: a file of names instead of the system's, and addresses.
func isolate(hosts string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the mounts of others alone: %w", err)
	}
	if err := unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /etc/hosts: %w", err)
	}
	return raiseLoopback()
}

// raiseLoopback is "ip link set lo up" and "ip address add 10.0.0.1/8 dev lo". An address of the
// loopback device makes its whole network local.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, up); err != nil {
		return fmt.Errorf("bring up the loopback device: %w", err)
	}
	address, err := unix.NewIfreq("lo:pods")
	if err != nil {
		return err
	}
	if err := address.SetInet4Addr([]byte{10, 0, 0, 1}); err != nil { // Its class A has 8 bits.
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, address); err != nil {
		return fmt.Errorf("give the loopback device an address: %w", err)
	}
	return nil
}
