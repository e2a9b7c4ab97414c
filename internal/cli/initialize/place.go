package initialize

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// place is where files are written, and what Git knows of it.
type place struct {
	// the folder that paths begin in: the top of the repository or, without one, the folder itself
	top            string
	folder         string // from the top, with slashes; empty for the top
	elsewhere      bool   // the top is not the current folder
	origin, branch string // empty if they are not known
}

// locate looks for the repository that a folder is in, which need not be there yet.
func locate(ctx context.Context, folder string) (place, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return place{}, err
	}
	here, err := os.Getwd()
	if err != nil {
		return place{}, err
	}
	p := place{top: absolute}
	near := absolute
	for !isFolder(near) && filepath.Dir(near) != near {
		near = filepath.Dir(near)
	}
	if below := git(ctx, near, "rev-parse", "--show-cdup"); below.err == nil {
		p.top = filepath.Join(near, filepath.FromSlash(below.line))
		p.origin = address(git(ctx, near, "config", "--get", "remote.origin.url").line)
		p.branch = git(ctx, near, "symbolic-ref", "--quiet", "--short", "HEAD").line
	}
	p.elsewhere = p.top != here
	relative, err := filepath.Rel(p.top, absolute)
	if relative != "." {
		p.folder = filepath.ToSlash(relative)
	}
	return p, err
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

type answer struct {
	line string
	err  error
}

// git asks the program git, which need not be there.
func git(ctx context.Context, folder string, args ...string) answer {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = folder
	out, err := cmd.Output()
	return answer{strings.TrimSuffix(string(out), "\n"), err}
}

// address returns the URL of a remote as CI jobs reach it: over HTTPS, without the credentials that it may hold. A
// remote on the disk, or over SSH at a port of its own, is left as it is.
func address(remote string) string {
	if u, err := url.Parse(remote); err == nil && u.User != nil && (u.Scheme == "https" || u.Scheme == "http") {
		u.User = nil
		return u.String()
	}
	normal, err := transport.NormaliseURL(remote)
	if remote == "" || err != nil {
		return ""
	}
	u, err := url.Parse(normal)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "ssh" && u.Port() == "":
		return "https://" + u.Host + strings.TrimSuffix(u.Path, "/") + ".git"
	case u.Scheme == "file":
		return normal
	}
	return remote
}
