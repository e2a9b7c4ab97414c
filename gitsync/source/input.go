package source

import (
	"errors"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/panics"
)

// Input is the content read from a source. It is kept between passes, with sums over all files, so that the cost of a
// pass depends on the size of the change.
type Input struct {
	at      trees
	rules   sourceignore.Rules // of at
	layout  *inputs.Layout     // of at; nil if nothing is built
	Files   map[string]*File
	folders map[string]int   // the number of files below each folder
	faulty  map[string]*File // the files for which [File.isFaulty] is true
	Ignored map[string]int   // the number of objects of each kind that is not read
	hidden  int              // the number of files that a .sourceignore file hides
	parsed  int              // how many objects the last [Source.Update] parsed that can be stored
	// Differing is how many files it found different from the trees before.
	Differing int
	bytes     int64 // the size of all files: see [File.size]
	kept      int64 // the part of it that [Source.KeepBytes] bounds: see [File.kept]
	// removed and added are the objects of files that changed since the set of objects was built. rebuild is set if
	// they are not sufficient to update the set.
	removed, added []*manifest.Object
	rebuild        bool
}

// File is one parsed file, which depends only on its blob, or one built kustomization (a root), whose Blob is a digest
// of everything that was read to build it.
type File struct {
	Path   string
	Blob   plumbing.Hash
	root   *root // nil for a plain file
	bytes  int   // the size of the text, if objects keep it
	shared bool  // whether another file has the same content
	Result manifest.Result
}

// Unreadable reports whether the list of a file's objects is incomplete: a document cannot be parsed, or has a name
// that no object can have.
func (f *File) Unreadable() bool {
	return f.Result.Broken > 0 || slices.ContainsFunc(f.Result.Invalid, func(id manifest.ID) bool {
		return !id.IsPossible()
	})
}

// IsBuilt reports whether the file is a root. What is built depends on more than the files: on the pipeline, and on
// what was fetched.
func (f *File) IsBuilt() bool { return f.root != nil }

// isEmpty reports whether a plain file has no document.
func (f *File) isEmpty() bool { return f.root == nil && f.Result.IsEmpty() }

// IsFollowed reports whether the file is a root that a custom resource asks for.
func (f *File) IsFollowed() bool { return f.root != nil && f.root.RequestedBy != nil }

// isFaulty reports whether a file has diagnostics, or invalid objects or documents.
func (f *File) isFaulty() bool {
	return len(f.Result.Diags)+len(f.Result.Invalid)+f.Result.Broken > 0
}

// Below reports whether a file with that name, or a file below it, was read.
func (in *Input) Below(name string) bool {
	return in.Files[name] != nil || in.folders[name] > 0
}

// Reads reports whether a file with that name, or one below it, was read as a manifest or for a build.
func (in *Input) Reads(name string) bool {
	if in.Below(name) {
		return true
	}
	for _, f := range in.Files {
		if f.BuiltFrom(name) {
			return true
		}
	}
	return false
}

// Names reports whether a root names a folder, or something in it, even if that is not there.
func (in *Input) Names(folder string) bool {
	for _, f := range in.Files {
		if f.root != nil && f.root.reads.Looked(folder) {
			return true
		}
	}
	return false
}

// BuiltFrom reports whether a root was built from a file with that name, or one below it.
func (f *File) BuiltFrom(name string) bool { return f.root != nil && f.root.reads.Below(name) }

func newInput() Input {
	return Input{Files: map[string]*File{}, folders: map[string]int{}, faulty: map[string]*File{},
		Ignored: map[string]int{}}
}

// Update reads the difference between the last trees and new ones. If that is too much for the budget of the pass, it
// forgets everything, because perhaps only the old and the new trees together are too much. If it fails with what
// another process stored, it does without.
func (s *Source) Update(pass *budget.Pass, at trees, opts manifest.Options) error {
	isFirst, stored, taken := s.Input.Files == nil, s.Stored, pass.Taken()
	s.Stored = nil
	err := s.update(pass, at, opts, stored)
	if err != nil && stored != nil && pass.Context().Err() == nil {
		s.forget()
		if err = pass.Take(taken - pass.Taken()); err == nil {
			err = s.update(pass, at, opts, nil)
		}
	}
	if errors.Is(err, budget.ErrExceeded) || err != nil && isFirst {
		s.forget()
	}
	return err
}

// update is [Source.Update]. It begins with what is stored, unless that is nil.
func (s *Source) update(pass *budget.Pass, at trees, opts manifest.Options, from *Stored) error {
	in := &s.Input
	if in.Files == nil {
		*in = newInput()
	}
	in.parsed, in.Differing = 0, 0
	if err := pass.Take(in.bytes); err != nil {
		return err
	}
	again, err := s.Charts.Prepare(pass.Context(), in.charts())
	if err != nil || in.at.same(at) && !again && in.isSettled() {
		return err
	}
	old, err := s.resume(pass, from, opts)
	if err != nil {
		return err
	}
	d, err := s.diff(pass, in.at, at, s.Charts, opts)
	if err != nil {
		return err
	}
	in.Differing = len(d.raw)
	changes := d.changes
	fresh := s.changed(old, changes)
	if gone := len(old) + len(d.raw) - len(fresh); len(old) > 0 {
		if err := pass.Take(-BytesPerFile * int64(gone)); err != nil {
			return err
		}
	}
	rest, err := s.recall(pass, from, fresh, opts)
	if err != nil {
		return err
	}
	if err := s.parse(pass, rest, opts); err != nil {
		return err
	}
	for _, f := range rest {
		if heads, ok := f.Result.Heads(); ok {
			in.parsed += len(heads.Objects)
		}
	}
	built, gone, err := d.rebuild(opts)
	if err != nil {
		return err
	}
	for _, name := range gone {
		in.drop(name)
	}
	fresh = append(fresh, built...)
	for _, c := range changes {
		if c.New == (object.Entry{}) {
			in.drop(c.Path)
		}
	}
	for _, f := range fresh {
		in.put(f)
	}
	in.at, in.rules, in.layout = at, d.new, d.newLayout
	in.hidden += d.hidden
	return nil
}

// changed returns unparsed files with the changes.
func (s *Source) changed(files []*File, changes []object.Change) []*File {
	if len(files) > 0 {
		paths := make(map[string]bool, len(changes))
		for _, c := range changes {
			paths[c.Path] = true
		}
		files = slices.DeleteFunc(files, func(f *File) bool { return paths[f.Path] })
	}
	for _, c := range changes {
		if c.New != (object.Entry{}) {
			files = append(files, s.File(c.Path, c.New))
		}
	}
	return files
}

// File returns an unparsed file.
func (s *Source) File(name string, e object.Entry) *File {
	f := &File{Path: name, Blob: e.Hash}
	problem := refuseMode(e.Mode)
	if problem == nil && path.Base(name) == sourceignore.FileName {
		problem = new(sourceignore.Problem()) // only an unusable one gets here
	}
	if problem != nil {
		problem.File, problem.Source = name, s.Label
		f.Result = manifest.Result{Diags: diag.List{*problem}, Broken: 1}
		f.Blob = plumbing.ZeroHash
	}
	return f
}

// distinct drops paths below other paths, so that no file is read twice.
func distinct(paths []string) []string {
	var out []string
	for _, p := range paths {
		p = path.Clean(p)
		covered := slices.ContainsFunc(paths, func(q string) bool {
			q = path.Clean(q)
			return q != p && pipeline.Within(q, p)
		})
		if !covered && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// readable reports whether a path belongs to a manifest below a prefix in the pipeline: a .yaml, .yml or .json file
// that is neither hidden nor in a hidden folder. The prefix itself may be a file with any name.
func readable(name, prefix string) bool {
	if name == prefix {
		return true
	}
	return manifest.IsManifestPath(strings.TrimPrefix(name, prefix+"/"))
}

// refuseMode returns a diagnostic for a symbolic link or submodule, which is not read.
func refuseMode(mode filemode.FileMode) *diag.Diagnostic {
	switch mode {
	case filemode.Symlink:
		return &diag.Diagnostic{Severity: diag.Error, Code: diag.SymlinkRefused,
			Message: "is a symbolic link, which is not followed",
			Hint:    "put a copy of the file in its place, or name the link's target in sources[].paths"}
	case filemode.Submodule:
		return &diag.Diagnostic{Severity: diag.Error, Code: diag.SubmoduleRefused,
			Message: "is a submodule, which is not followed",
			Hint:    "add the other repository as a source of its own"}
	}
	return nil
}

// parse reads and parses files on all processors, equal blobs once. Each worker has its own Reader.
func (s *Source) parse(pass *budget.Pass, files []*File, opts manifest.Options) error {
	type content struct {
		blob plumbing.Hash
		opts manifest.PathOptions
	}
	most := min(s.KeepBytes, pass.Limit()/16)
	var kept atomic.Int64
	kept.Store(s.Input.kept)
	first := map[content]*File{}
	next := make(chan *File, len(files))
	for _, f := range files {
		if c := (content{f.Blob, opts.OfPath(f.Path)}); first[c] == nil && !f.Blob.IsZero() {
			first[c] = f
			next <- f
		}
	}
	close(next)
	workers := max(1, min(runtime.GOMAXPROCS(0), len(next)/8+1))
	errs := make([]error, workers)
	panics.Each(workers, func(w int) {
		rd := s.Repo.Reader()
		defer rd.Close()
		for f := range next {
			if errs[w] = s.parseFile(pass, rd, f, opts); errs[w] != nil {
				return
			}
			if size := f.kept(); kept.Add(size) > most {
				kept.Add(-size)
				f.Result.Release()
			}
			if errs[w] = f.take(pass); errs[w] != nil {
				return
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, f := range files {
		if equal := first[content{f.Blob, opts.OfPath(f.Path)}]; equal != nil && equal != f {
			f.bytes, f.shared = equal.bytes, true
			if err := pass.Take(equal.copySize() - BytesPerFile); err != nil {
				return err
			}
			f.Result = equal.Result.At(f.Path, s.again(f.Blob))
		}
	}
	for _, f := range files {
		s.warnAboutKustomization(f)
	}
	return nil
}

// FaultyFiles returns the files with diagnostics, or with invalid objects or documents, sorted by path.
func (in *Input) FaultyFiles() []*File {
	return slices.SortedFunc(maps.Values(in.faulty), func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
}

// IsBroken reports whether a file is unreadable or a root cannot be built.
func (in *Input) IsBroken() bool {
	for _, f := range in.faulty {
		if f.Unreadable() {
			return true
		}
	}
	return false
}

// put adds or replaces a file.
func (in *Input) put(f *File) {
	in.drop(f.Path)
	in.Files[f.Path] = f
	in.count(f, 1)
	if f.isFaulty() {
		in.faulty[f.Path] = f
	}
	in.added = append(in.added, f.Result.Objects...)
}

// drop removes a file.
func (in *Input) drop(name string) {
	old := in.Files[name]
	if old == nil {
		return
	}
	delete(in.Files, name)
	delete(in.faulty, name)
	in.count(old, -1)
	in.removed = append(in.removed, old.Result.Objects...)
}

// count adds a file to the sums (sign 1) or subtracts it (sign -1).
func (in *Input) count(f *File, sign int) {
	in.rebuild = in.rebuild || len(f.Result.LeftOut)+len(f.Result.Named)+len(f.Result.Rights)+f.Result.Broken > 0
	in.bytes += int64(sign) * f.size()
	in.kept += int64(sign) * f.kept()
	for kind, n := range f.Result.Ignored {
		add(in.Ignored, kind, sign*n)
	}
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		add(in.folders, dir, sign)
	}
}

// add adds n to a sum, and removes the sum if it becomes zero.
func add(sums map[string]int, key string, n int) {
	if sums[key] += n; sums[key] == 0 {
		delete(sums, key)
	}
}

// take reserves the memory of a file that was parsed. treeDiff.add has reserved BytesPerFile.
func (f *File) take(pass *budget.Pass) error { return pass.Take(f.size() - BytesPerFile) }

// parseFile reads and parses a file. The caller takes the memory of the result.
func (s *Source) parseFile(pass *budget.Pass, rd *object.Reader, f *File, opts manifest.Options) error {
	if f.Blob.IsZero() {
		return nil // Source.File refused it
	}
	size, err := rd.BlobSize(f.Blob)
	if err != nil {
		return err
	}
	if size > manifest.MaxFileBytes {
		f.Result = manifest.TooLarge(manifest.File{Source: s.Label, Path: f.Path})
		return nil
	}
	done, err := pass.Work(manifest.ParsingBytes(size))
	if err != nil {
		return err
	}
	defer done()
	data, err := rd.Blob(f.Blob, manifest.MaxFileBytes)
	if err != nil {
		return err
	}
	f.Result = manifest.Parse(manifest.File{Source: s.Label, Path: f.Path, Data: data, Again: s.again(f.Blob)}, opts)
	if len(f.Result.Objects)+len(f.Result.LeftOut) > 0 {
		f.bytes = len(data)
	}
	return nil
}

// again returns the function that reads a blob once more. It is nil for files of this machine, which may change.
func (s *Source) again(blob plumbing.Hash) func() ([]byte, error) {
	if s.IsLocal {
		return nil
	}
	return func() ([]byte, error) {
		rd := s.Repo.Reader()
		defer rd.Close()
		return rd.Blob(blob, manifest.MaxFileBytes)
	}
}

// warnAboutKustomization warns about a kustomization that is read as a plain manifest.
func (s *Source) warnAboutKustomization(f *File) {
	if base := path.Base(f.Path); s.Build != inputs.Plain || f.Blob.IsZero() ||
		base != "kustomization.yaml" && base != "kustomization.yml" {
		return
	}
	f.Result.Diags = append(f.Result.Diags, diag.Diagnostic{
		Severity: diag.Warning, Code: diag.PlainManifests, Source: s.Label, File: f.Path,
		Message: "the folder's files are read as plain manifests: kustomizations are not built",
		Hint:    "set build: auto if patches or generators matter",
	})
}
