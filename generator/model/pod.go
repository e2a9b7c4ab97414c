package model

import (
	"path"
	"slices"
	"strings"
)

// Pod describes the container that runs the program, as far as the manifests say.
type Pod struct {
	// Env has the names of the variables that users define; AnyEnv means that there may be others.
	Env    []string
	AnyEnv bool
	// Mounts are the mount paths of volumes.
	Mounts []string
}

// MayHave reports whether the container can have a file: in a volume, or in a folder where images keep certificates.
func (p *Pod) MayHave(file string) bool {
	return slices.ContainsFunc(append(slices.Clip(p.Mounts), "/etc/ssl", "/etc/pki", "/usr"), func(mount string) bool {
		mount = path.Clean(mount)
		return file == mount || strings.HasPrefix(file, strings.TrimSuffix(mount, "/")+"/")
	})
}
