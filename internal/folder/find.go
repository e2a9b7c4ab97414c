package folder

import (
	"context"
	"fmt"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Find returns the files at the paths whose text matches. It reads all files that [Read] would read without building
// anything, except standard input. skip works like [Options.Skip].
func Find(ctx context.Context, paths []string, skip func(folder string) bool, matches func(text []byte) bool) (
	[]manifest.File, error) {
	w := newWalk(paths, skip)
	for _, path := range paths {
		if path == stdin {
			continue
		}
		if err := w.add(ctx, path); err != nil {
			return nil, err
		}
	}
	var out []manifest.File
	for _, f := range w.files {
		text, err := f.read(nil)
		if err != nil {
			return nil, fmt.Errorf("read %s: %s", f.name, reason(err))
		}
		if matches(text) {
			out = append(out, manifest.File{Path: f.name, Data: text})
		}
	}
	return out, ctx.Err()
}
