package folder

import (
	"context"
	"fmt"
)

// Found is a file that [Find] has found.
type Found struct {
	Name string // the name in reports
	Text []byte
}

// Find returns the files at the paths whose text matches. It reads all files that [Read] would read without building
// anything, except standard input. skip works like [Options.Skip].
func Find(ctx context.Context, paths []string, skip func(folder string) bool, matches func(text []byte) bool) ([]Found,
	error) {
	w := newWalk(paths, skip)
	for _, path := range paths {
		if path == stdin {
			continue
		}
		if err := w.add(ctx, path); err != nil {
			return nil, err
		}
	}
	var out []Found
	for _, f := range w.files {
		text, err := f.read(nil)
		if err != nil {
			return nil, fmt.Errorf("read %s: %s", f.name, reason(err))
		}
		if matches(text) {
			out = append(out, Found{Name: f.name, Text: text})
		}
	}
	return out, ctx.Err()
}
