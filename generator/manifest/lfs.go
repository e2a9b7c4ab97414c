package manifest

import "bytes"

// maxLFSPointerBytes is the largest pointer, by the specification of Git LFS.
const maxLFSPointerBytes = 1024

// IsLFSPointer recognises a file that stands for one in Git LFS: its first line is the
// version, and the other lines are keys and values.
func IsLFSPointer(text []byte) bool {
	return len(text) < maxLFSPointerBytes && bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/v")) &&
		bytes.Contains(text, []byte("\noid sha256:"))
}
