package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// insideEnv is set in the environment of the program that runs in the namespace.
const insideEnv = "AGENTRY_SOAK_INSIDE"

// isolated runs main with mounts of its own, so that it can have a small disk without any rights.
// It returns the exit code. Where the kernel refuses, it runs main without.
func isolated(main func() int) int {
	if os.Getenv(insideEnv) != "" {
		return main()
	}
	again := exec.Command("/proc/self/exe", os.Args[1:]...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), insideEnv+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // It is the end of the thread, not of the process, that the signal tells of.
	if err := again.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "no disk will be full: mounts of its own are refused: %v\n", err)
		return main()
	}
	err := again.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1) // A signal has none.
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// smallDisk mounts one at a folder, and reports whether it may.
func smallDisk(dir string, bytes int) bool {
	return os.Getenv(insideEnv) != "" && syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)) == nil
}

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
