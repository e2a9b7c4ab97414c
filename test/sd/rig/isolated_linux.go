package rig

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is set in the environment of the program that runs in the namespace.
const inside = "AGENTRY_SD_RIG"

// Isolated runs main in a network namespace of its own, in which every address of 10.0.0.0/8 is
// this host: it runs this program once more, as root of a user namespace, so that it needs no
// rights. It returns the exit code. Where the kernel refuses it says what to allow.
func Isolated(main func() int) int {
	if os.Getenv(inside) != "" {
		if err := raiseLoopback(); err != nil {
			return refused(err)
		}
		return main()
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
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
		return refused(err)
	}
	return 0
}

func refused(err error) int {
	fmt.Fprintf(os.Stderr, `cannot make a network namespace for fake pods: %v
This needs user namespaces. Allow them:
  sysctl user.max_user_namespaces=10000
  sysctl kernel.unprivileged_userns_clone=1                (on Debian)
  sysctl kernel.apparmor_restrict_unprivileged_userns=0    (on Ubuntu)
In a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined
`, err)
	return 1
}

// raiseLoopback is "ip link set lo up" and "ip address add 10.0.0.1/8 dev lo". An address of the
// loopback device makes its whole network local.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
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
