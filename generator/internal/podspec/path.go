package podspec

import (
	"path"
	"strings"
)

// absolute returns a mount path as the kubelet reads it.
func absolute(p string) string { return path.Clean("/" + p) }

// below reports whether a mount path is the folder or lies in it.
func below(p, folder string) bool {
	p, folder = absolute(p), absolute(folder)
	return p == folder || strings.HasPrefix(p, folder+"/")
}
