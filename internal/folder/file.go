package folder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

const stdin = "-"

// file is a manifest file, or a root that is built.
type file struct {
	name string     // the name in reports
	path string     // on disk
	root *builtRoot // set if the file stands for a root
}

// errTooLarge means that a file exceeds [manifest.MaxFileBytes].
var errTooLarge = errors.New("too large")

// parse reads and parses the file. It also returns the text.
func (f file) parse(ctx context.Context, opts Options) (manifest.Result, []byte) {
	if f.root != nil {
		return f.root.build(ctx, opts), nil
	}
	data, err := f.read(opts.Stdin)
	switch {
	case errors.Is(err, errTooLarge):
		return manifest.TooLarge(manifest.File{Path: f.name}), nil
	case err != nil:
		return unreadable(f.name, err), nil
	}
	return manifest.Parse(manifest.File{Path: f.name, Data: data}, opts.Manifest), data
}

// read reads the file, or in if it is standard input.
func (f file) read(in io.Reader) ([]byte, error) {
	if f.name == stdin {
		if in == nil {
			return nil, nil
		}
		return readAll(in, 0)
	}
	opened, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer opened.Close() // nothing was written
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > manifest.MaxFileBytes {
		return nil, errTooLarge
	}
	return readAll(opened, int(info.Size()))
}

// readAll reads r to its end. size is the expected size.
func readAll(r io.Reader, size int) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(size + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(r, manifest.MaxFileBytes+1)); err != nil {
		return nil, err
	}
	if data.Len() > manifest.MaxFileBytes {
		return nil, errTooLarge
	}
	return data.Bytes(), nil
}

// unreadable returns the result of a file or folder that cannot be read.
func unreadable(name string, err error) manifest.Result {
	return manifest.Result{Broken: 1, Diags: diag.List{{
		Severity: diag.Error, Code: diag.UnreadableFile, File: name, Message: "cannot be read: " + reason(err),
	}}}
}
