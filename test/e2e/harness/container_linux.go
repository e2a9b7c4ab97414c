package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// emptied are the folders that every container has for itself: their files are those of this
// machine elsewhere, and who is not root here could not make the places to mount at.
func emptied() []string { return []string{"/tmp", "/var/lib", "/var/log", "/var/run"} }

// start runs the program. It is a child of a thread that has the container's mounts, and which
// ends with the goroutine, for it is never unlocked.
func (of Container) start(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- of.startHere(cmd)
	}()
	return <-started
}

func (of Container) startHere(cmd *exec.Cmd) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leave the mounts of others alone: %w", err)
	}
	// Program, folders and files may lie where there is nothing in a moment.
	held := map[string]string{}
	for _, path := range append(of.sources(), cmd.Path) {
		file, err := os.OpenFile(path, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		held[path] = fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	}
	for _, dir := range emptied() {
		if err := empty(dir); err != nil {
			return err
		}
	}
	for _, path := range of.places() {
		if err := bind(held[of.Mounts[path]], path); err != nil {
			return err
		}
	}
	cmd.Path = held[cmd.Path]
	return cmd.Start()
}

// places are where something is mounted, those of folders before those in them.
func (of Container) places() []string {
	places := make([]string, 0, len(of.Mounts))
	for path := range of.Mounts {
		places = append(places, path)
	}
	slices.Sort(places)
	return places
}

func (of Container) sources() []string {
	var sources []string
	for _, path := range of.places() {
		sources = append(sources, of.Mounts[path])
	}
	return sources
}

func empty(dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // /var/run is one.
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755")
	}
	if err != nil {
		return fmt.Errorf("empty %s: %w", dir, err)
	}
	return nil
}

// bind mounts a folder, or a file at the place of another.
func bind(source, path string) error {
	info, err := os.Stat(source)
	if err == nil && info.IsDir() {
		err = os.MkdirAll(path, 0o755)
	} else if err == nil {
		err = ground(path)
	}
	if err == nil {
		err = unix.Mount(source, path, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("mount at %s: %w", path, err)
	}
	return nil
}

// ground makes the file that a link leads to, if it is gone: /etc/resolv.conf often leads to /run, which
// is empty here.
func ground(path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return nil // It is no link.
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o600)
}
