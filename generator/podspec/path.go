package podspec

import (
	"path"
	"strings"
)

// absolute is a mount path as the kubelet understands it.
func absolute(p string) string { return path.Clean("/" + p) }

// below reports whether a mount path is another or lies in it.
func below(p, folder string) bool {
	p, folder = absolute(p), absolute(folder)
	return p == folder || strings.HasPrefix(p, folder+"/")
}
