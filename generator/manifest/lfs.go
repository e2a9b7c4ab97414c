package manifest

import "bytes"

// maxLFSPointerBytes is the largest pointer that the specification of Git LFS allows.
const maxLFSPointerBytes = 1024

// IsLFSPointer reports whether a file is a pointer to a file in Git LFS: its first line is the version, and the
// other lines are keys and values.
func IsLFSPointer(text []byte) bool {
	return len(text) < maxLFSPointerBytes && bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/v")) &&
		bytes.Contains(text, []byte("\noid sha256:"))
}
