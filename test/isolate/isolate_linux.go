package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Rerun runs this program once more, with the same arguments, in new namespaces. It returns its exit
// code, or an error with advice if the kernel refuses.
func Rerun(n Namespaces) (int, error) {
	flags := uintptr(syscall.CLONE_NEWUSER)
	for flag, wanted := range map[uintptr]bool{syscall.CLONE_NEWNET: n.Network, syscall.CLONE_NEWNS: n.Mounts,
		syscall.CLONE_NEWPID: n.Processes} {
		if wanted {
			flags |= flag
		}
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), inside+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // The signal is sent when the thread ends, not the process.
	if err := again.Start(); err != nil {
		return 0, fmt.Errorf(`make namespaces: %w
This needs user namespaces. Allow them:
  sysctl user.max_user_namespaces=10000
  sysctl kernel.unprivileged_userns_clone=1                (on Debian)
  sysctl kernel.apparmor_restrict_unprivileged_userns=0    (on Ubuntu)
In a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined`, err)
	}
	err := again.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil // A signal has none.
	}
	return 0, err
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
