// Package folder reads manifests from folders, files and standard input, and parses them.
//
// In a folder it reads the files that end in .yaml, .yml or .json, at any depth, like kubectl. It skips files and
// folders whose names begin with a dot: .git, .github, and the internal folders of a mounted ConfigMap. A path that is
// given explicitly is read whatever its name. No file is read twice, even if several paths and links lead to it.
//
// If [Options] say so, kustomizations are built by package inputs; their files, and Helm charts, are not read as plain
// manifests.
//
// Files that .sourceignore files exclude are ignored: see package sourceignore. These files apply from the top of the
// repository that contains a path; outside of repositories, from the outermost given folder.
//
// A symbolic link is followed only if its target is below the given path. Other links, broken links and circles are
// reported: a repository must not make its reader read other files.
//
// An unreadable file is reported as a diagnostic, and the others are read; only a path that does not exist is an
// error. Memory is limited: one worker per processor reads and parses a file of at most [manifest.MaxFileBytes] at a
// time.
package folder

import (
	"context"
	"io"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/panics"
)

// Options configure [Read]. The zero value is valid.
type Options struct {
	// Manifest says how manifests are parsed.
	Manifest manifest.Options
	// Build chooses how the paths are built. If empty, nothing is built.
	Build inputs.Mode
	// Sources are the folders of other repositories that custom resources of Flux and Argo CD name, by URL or by
	// custom resource: Kind/namespace/name, namespace/name or name.
	Sources map[string]string
	// Charts renders charts. If nil, charts are refused.
	Charts *chart.Renderer
	// Secrets decrypts SOPS-encrypted files that builds depend on. If nil, nothing is decrypted.
	Secrets *sops.FileDecrypter
	// Stdin is read for the path "-". If nil, it is empty.
	Stdin io.Reader
	// Skip, if not nil, reports whether to skip a folder. It gets every folder's name in reports, including given
	// ones.
	Skip func(folder string) bool
}

// Input is the result of [Read].
type Input struct {
	// Results has one result for each file, and one for problems of no file. Their order depends only on the paths and
	// the folders' contents.
	Results []manifest.Result
	// Files is the number of files.
	Files int
	// Empty are the paths without manifests: without files, or only with files without documents.
	Empty []string
	// Hidden is the number of files that a .sourceignore excludes.
	Hidden int
	// Charts are the folders with Helm charts, which are not read.
	Charts []string

	files map[string]file // by name
	stdin []byte
}

// Text returns the text of a file by its name in reports, or nil, so that reports can quote it. It reads the file
// again, because few are quoted.
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

// Read reads the manifests at the paths. "-" is standard input.
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
	panics.Each(len(w.files), func(i int) {
		if ctx.Err() != nil {
			return
		}
		var data []byte
		in.Results[i], data = w.files[i].parse(ctx, opts)
		if w.files[i].name == stdin {
			in.stdin = data // no data race: there is only one such file
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	nonEmpty := w.nonEmpty(in.Results)
	for _, name := range paths {
		if path, _ := realPath(name); !nonEmpty[name] && !nonEmpty[path] {
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
