// Package folder reads manifests from folders, files and standard input, and parses them.
//
// In a folder it reads, at any depth, the files that end in .yaml, .yml or .json, as kubectl
// does. It skips files and folders whose name begins with a dot: .git, .github, and the
// internal folders of a mounted ConfigMap. A path that is named itself is read whatever its
// name. No file is read twice, even if several paths and links lead to it.
//
// Kustomizations are built if [Options] say so, as package inputs says: what belongs to one is not read by itself. Nor
// is a folder with a Helm chart.
//
// It ignores what .sourceignore files hide, as package sourceignore says. They are read from
// the top of the repository that a path is in; outside of repositories, from the outermost
// folder that was named.
//
// A symbolic link is followed if its target is below the path that was named. Other links are
// reported and not followed, as are links to nothing and circles: a repository must not make
// its reader read other files.
//
// A file that cannot be read is reported as a diagnostic, and the others are read; only a path
// that does not exist is an error. Memory is bounded: files are read and parsed by as many
// workers as there are processors, one file of at most [manifest.MaxFileBytes] each.
package folder

import (
	"context"
	"io"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/fault"
)

// Options are the settings of [Read]. The zero value is valid.
type Options struct {
	// Manifest says how manifests are parsed.
	Manifest manifest.Options
	// Build says what is built. The paths are the roots, or are searched for them. Empty builds nothing.
	Build inputs.Mode
	// Sources are the folders of other repositories that custom resources of Flux and Argo CD name, by the name of the
	// resource, as Kind/namespace/name or the end of that, or by the URL.
	Sources map[string]string
	// Charts renders the charts of kustomizations. Nil refuses them.
	Charts *chart.Renderer
	// Secrets decrypts what decides what is built. Nil decrypts nothing.
	Secrets *sops.FileDecrypter
	// Stdin is read for the path "-". Nil is an empty one.
	Stdin io.Reader
	// Skip, if it is not nil, reports whether a folder is not read. It gets the path of every folder
	// as in reports, including those that were named.
	Skip func(folder string) bool
}

// Input is what was read.
type Input struct {
	// Results has one result for each file, and one for what concerns no file. Their order depends only
	// on the paths and the folders' contents.
	Results []manifest.Result
	// Files counts the files that were found.
	Files int
	// Empty are the paths that hold no manifest: no file, or only files without a document.
	Empty []string
	// Hidden counts the files that a .sourceignore hides.
	Hidden int
	// Charts are the folders with Helm charts, of which nothing is read.
	Charts []string

	files map[string]file // by name
	stdin []byte
}

// Text returns the text of a file by its name as in reports, or nil, so that reports can quote it. The
// file is read again: few are quoted.
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
	if err := w.findRoots(ctx, opts); err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := w.add(ctx, path); err != nil {
			return nil, err
		}
	}
	in := &Input{Results: make([]manifest.Result, len(w.files)), Hidden: len(w.hidden), Charts: w.charts,
		files: map[string]file{}}
	fault.Each(len(w.files), func(i int) {
		if ctx.Err() != nil {
			return
		}
		var data []byte
		in.Results[i], data = w.files[i].parse(ctx, opts)
		if w.files[i].name == stdin {
			in.stdin = data // there is one such file, so one worker writes
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	holding := w.holding(in.Results)
	for _, name := range paths {
		if path, _ := realPath(name); !holding[name] && !holding[path] {
			in.Empty = append(in.Empty, name)
		}
	}
	in.Results = append(in.Results, w.result)
	for _, f := range w.files {
		if f.root == nil {
			in.files[f.name] = f
			continue
		}
		for _, part := range f.root.parts {
			in.files[part.name] = part
		}
	}
	in.Files = len(in.files)
	return in, nil
}
