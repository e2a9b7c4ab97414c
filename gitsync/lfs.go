package gitsync

import (
	"bytes"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// maxLFSPointerBytes is the largest pointer, by the specification of Git LFS.
const maxLFSPointerBytes = 1024

// isLFSPointer recognises a file that stands for one in Git LFS: its first line is the
// version, and the other lines are keys and values.
func isLFSPointer(text []byte) bool {
	return len(text) < maxLFSPointerBytes && bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/v")) &&
		bytes.Contains(text, []byte("\noid sha256:"))
}

// lfsPointer is the result of such a file: nobody can tell what it defines.
func lfsPointer(f manifest.File) manifest.Result {
	return manifest.Result{Broken: 1, Diags: diag.List{{
		Severity: diag.Error, Code: diag.LFSPointer, Source: f.Source, File: f.Path, Line: 1, Column: 1,
		Message: "is a pointer of Git LFS, whose content is not in the repository",
		Hint:    "store manifests as plain files: `git lfs untrack` their pattern, then `git add --renormalize .` and commit",
	}}}
}
