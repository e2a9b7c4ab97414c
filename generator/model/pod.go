package model

import (
	"path"
	"slices"
	"strings"
)

// Pod is what the manifests tell about the container that runs the program.
type Pod struct {
	// Env names the variables that users define, and AnyEnv means that there may be others.
	Env    []string
	AnyEnv bool
	// Mounts are the paths of volumes.
	Mounts []string
}

// MayHave reports whether the container can have a file: in a volume, or in a folder where images have certificates.
func (p *Pod) MayHave(file string) bool {
	return slices.ContainsFunc(append(slices.Clip(p.Mounts), "/etc/ssl", "/etc/pki", "/usr"), func(mount string) bool {
		mount = path.Clean(mount)
		return file == mount || strings.HasPrefix(file, strings.TrimSuffix(mount, "/")+"/")
	})
}
