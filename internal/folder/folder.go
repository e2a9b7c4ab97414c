// Package folder reads manifests from folders, files and standard input, and parses them.
//
// Of a folder it reads, at any depth, the files that end in .yaml, .yml or .json, as kubectl
// does; files and folders whose name begins with a dot are skipped, so that .git, .github
// and the halves of a mounted ConfigMap volume are. A path that is named itself is read
// whatever its name. No file is read twice, however many paths and links lead to it.
//
// What .sourceignore files hide is not there, as package sourceignore says: those of the
// repository that a path is in, from its top down. Of what is in no repository those count
// that are in the outermost folder that was named and below.
//
// A symbolic link is followed as long as it stays below the path that was named. One that
// leads out, to nothing or in a circle is reported and not followed: what a repository can
// make its reader read is what is in it.
//
// What cannot be read is reported like any other finding, and takes nothing else down; only
// a path that does not exist is an error. Memory is bounded: files are read and parsed by
// as many workers as there are processors, one file of at most [manifest.MaxFileBytes] each.
package folder

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Options are the settings of [Read]. The zero value is valid.
type Options struct {
	// Manifest says how manifests are parsed.
	Manifest manifest.Options
	// Stdin is read for the path "-". Nil is an empty one.
	Stdin io.Reader
	// Skip, if it is not nil, names folders that are not read. It is asked for every folder,
	// by its path as in reports, those that were named included.
	Skip func(folder string) bool
}

// Input is what was read.
type Input struct {
	// Results holds one result a file and one for what concerns no file, in an order that
	// depends on nothing but the paths and the folders' contents.
	Results []manifest.Result
	// Files counts the files that were found.
	Files int
	// Hidden counts the files that would be read but for a .sourceignore.
	Hidden int

	files map[string]file // by name
	stdin []byte
}

// Text returns the text of a file by its name as in reports, for these to quote from, or
// nil. Files are read again: hardly any of them is asked for.
func (in *Input) Text(name string) []byte {
	if name == stdin {
		return in.stdin
	}
	f, found := in.files[name]
	if !found {
		return nil
	}
	data, err := f.read(nil)
	if err != nil {
		return nil
	}
	return data
}

// Read reads the manifests at the paths, in which "-" is standard input.
func Read(ctx context.Context, paths []string, opts Options) (*Input, error) {
	w := newWalk(paths, opts.Skip)
	for _, path := range paths {
		if err := w.add(ctx, path); err != nil {
			return nil, err
		}
	}
	in := &Input{Results: make([]manifest.Result, len(w.files)), Files: len(w.files), Hidden: len(w.hidden), files: map[string]file{}}
	err := inParallel(ctx, len(w.files), func(i int) {
		var data []byte
		in.Results[i], data = w.files[i].parse(opts)
		if w.files[i].name == stdin {
			in.stdin = data // once only, so by one worker only
		}
	})
	if err != nil {
		return nil, err
	}
	in.Results = append(in.Results, w.result)
	for _, f := range w.files {
		in.files[f.name] = f
	}
	return in, nil
}

// inParallel calls f for 0 to count-1 on all processors, until the context is done.
func inParallel(ctx context.Context, count int, f func(i int)) error {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), count) {
		workers.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := 0; i < count && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	workers.Wait()
	return ctx.Err()
}
