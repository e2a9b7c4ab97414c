package gitsync

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

// input is what was read of a source, kept between passes. What passes ask of all files is kept
// with them, so that its cost follows the change too.
type input struct {
	tree    plumbing.Hash
	rules   sourceignore.Rules // of the tree
	files   map[string]*inputFile
	folders map[string]int        // how many of the files each folder has below it
	odd     map[string]*inputFile // those of the files that [inputFile.isOdd] tells
	ignored map[string]int        // objects of kinds that are not read, in all files
	// gone and came are the objects of files since the set of objects was made; reshaped when
	// they do not tell what became of it.
	gone, came []*manifest.Object
	reshaped   bool
}

// inputFile is one parsed file. Its blob decides everything about it.
type inputFile struct {
	path   string
	blob   plumbing.Hash
	bytes  int // of the text
	result manifest.Result
}

// unreadable reports whether a file may define objects that nobody can tell: a document of it
// is none, or is one of a name that no object can have.
func (f *inputFile) unreadable() bool {
	return f.result.Broken > 0 || slices.ContainsFunc(f.result.Invalid, func(id manifest.ID) bool { return !isIdentity(id) })
}

// isOdd reports whether there is more to say about a file than which objects it defines.
func (f *inputFile) isOdd() bool {
	return len(f.result.Diags)+len(f.result.Invalid)+f.result.Broken > 0
}

// isIdentity reports whether there can be an object of that name.
func isIdentity(id manifest.ID) bool {
	named := len(validation.IsDNS1123Subdomain(id.Name)) == 0
	return named && (id.Kind == namespaceKind || len(validation.IsDNS1123Label(id.Namespace)) == 0)
}

const namespaceKind = "Namespace"

// readInputs brings the parsed files of all sources up to their commits. Only blobs that
// are new are read and parsed.
func (p *pass) readInputs() error {
	p.report.Ignored = map[string]int{}
	for i, src := range p.sources {
		if err := src.update(p.commits[i].Tree, p.pipeline.Spec.ParseOptions()); err != nil {
			return fmt.Errorf("read %s of %s: %w", p.commits[i].Hash, src.repo.URL(), err)
		}
		for _, f := range src.input.oddFiles() {
			p.report.Diags = append(p.report.Diags, f.result.Diags...)
		}
		for kind, n := range src.input.ignored {
			p.report.Ignored[kind] += n
		}
		if err := p.missingPaths(i); err != nil {
			return err
		}
	}
	p.head = p.objects()
	return nil
}

// objects joins what the files define. Where the set of the last pass tells what becomes of
// it, that is changed: cost follows the change.
func (s *Syncer) objects() *manifest.Set {
	var gone, came []*manifest.Object
	reshaped := s.memory.set == nil
	for _, src := range s.sources {
		in := &src.input
		gone, came, reshaped = append(gone, in.gone...), append(came, in.came...), reshaped || in.reshaped
		in.gone, in.came, in.reshaped = nil, nil, false
	}
	set, ok := s.memory.set, false
	if !reshaped {
		set, ok = set.Change(gone, came)
	}
	if !ok {
		var results []manifest.Result
		for _, src := range s.sources {
			for _, name := range slices.Sorted(maps.Keys(src.input.files)) {
				results = append(results, src.input.files[name].result)
			}
		}
		set = manifest.NewSet(results...)
	}
	s.memory.set = set
	return set
}

// missingPaths reports paths that hold nothing to read. One that is not there at all is
// more likely misspelt than emptied, so nothing counts as deleted on its account.
func (p *pass) missingPaths(i int) error {
	src := p.sources[i]
	for _, want := range src.Paths {
		want = path.Clean(want)
		if want == "." || src.input.below(want) {
			continue
		}
		rd := src.repo.Reader()
		_, err := rd.Lookup(p.commits[i].Tree, want)
		rd.Close()
		const hint = "correct sources[].paths, or create the folder"
		switch {
		case err == nil:
			p.warn(diag.SourcePathMissing, want, hint, "holds no manifest in commit %s of %s", pipeline.ShortID(p.commits[i].Hash.String()), src.repo.URL())
		case errors.Is(err, repo.ErrPathNotFound):
			p.error(diag.SourcePathMissing, want, hint, "is not in commit %s of %s", pipeline.ShortID(p.commits[i].Hash.String()), src.repo.URL())
			p.missing = append(p.missing, missing{i, want, p.report.Diags[len(p.report.Diags)-1]})
		default:
			return err
		}
	}
	return nil
}

// below reports whether a file or a folder of that name was read.
func (in *input) below(name string) bool {
	return in.files[name] != nil || in.folders[name] > 0
}

func newInput() input {
	return input{files: map[string]*inputFile{}, folders: map[string]int{}, odd: map[string]*inputFile{}, ignored: map[string]int{}}
}

// update reads the difference between the tree that was read last and a new one.
func (s *source) update(tree plumbing.Hash, opts manifest.Options) error {
	in := &s.input
	if in.files == nil {
		*in = newInput()
	}
	if in.tree == tree {
		return nil
	}
	changes, rules, err := s.diff(in.tree, tree)
	if err != nil {
		return err
	}
	var fresh []*inputFile
	for _, c := range changes {
		if c.New != (repo.Entry{}) {
			fresh = append(fresh, s.file(c.Path, c.New))
		}
	}
	if err := s.parse(fresh, opts); err != nil {
		return err
	}
	for _, c := range changes {
		if c.New == (repo.Entry{}) {
			in.drop(c.Path)
		}
	}
	for _, f := range fresh {
		in.put(f)
	}
	in.tree, in.rules = tree, rules
	return nil
}

// file is an entry that was not parsed yet.
func (s *source) file(name string, e repo.Entry) *inputFile {
	f := &inputFile{path: name, blob: e.Hash}
	problem := refuseMode(e.Mode)
	if problem == nil && path.Base(name) == sourceignore.FileName {
		unusable := sourceignore.Problem() // a usable one is no file to read
		problem = &unusable
	}
	if problem != nil {
		problem.File, problem.Source = name, s.label
		f.result = manifest.Result{Diags: diag.List{*problem}, Broken: 1}
		f.blob = plumbing.ZeroHash
	}
	return f
}

// distinct drops paths that lie in others, so that no file is read twice.
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

// readable reports whether a path is a manifest's, below a prefix that the pipeline
// names: a .yaml, .yml or .json file that is neither hidden nor in a hidden folder. A
// file that the pipeline names itself is read whatever its name.
func readable(name, prefix string) bool {
	if name == prefix {
		return true
	}
	return manifest.IsManifestPath(strings.TrimPrefix(name, prefix+"/"))
}

// refuseMode tells why an entry that is no plain file is not read.
func refuseMode(mode filemode.FileMode) *diag.Diagnostic {
	switch mode {
	case filemode.Symlink:
		return &diag.Diagnostic{Severity: diag.Error, Code: diag.SymlinkRefused, Message: "is a symbolic link, which is not followed",
			Hint: "put a copy of the file in its place, or name the link's target in sources[].paths"}
	case filemode.Submodule:
		return &diag.Diagnostic{Severity: diag.Error, Code: diag.SubmoduleRefused, Message: "is a submodule, which is not followed",
			Hint: "add the other repository as a source of its own"}
	}
	return nil
}

// parse reads and parses blobs on all processors. Each worker has a Reader of its own.
func (s *source) parse(files []*inputFile, opts manifest.Options) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(files)/8+1))
	next := make(chan *inputFile, len(files))
	for _, f := range files {
		next <- f
	}
	close(next)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rd := s.repo.Reader()
			defer rd.Close()
			for f := range next {
				if errs[w] = s.parseOne(rd, f, opts); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// oddFiles are the odd ones in the order of their paths.
func (in *input) oddFiles() []*inputFile {
	return slices.SortedFunc(maps.Values(in.odd), func(a, b *inputFile) int { return strings.Compare(a.path, b.path) })
}

// put takes a file in, instead of the one that was there.
func (in *input) put(f *inputFile) {
	in.drop(f.path)
	in.files[f.path] = f
	in.count(f, 1)
	if f.isOdd() {
		in.odd[f.path] = f
	}
	in.came = append(in.came, f.result.Objects...)
}

// drop forgets a file that is gone.
func (in *input) drop(name string) {
	old := in.files[name]
	if old == nil {
		return
	}
	delete(in.files, name)
	delete(in.odd, name)
	in.count(old, -1)
	in.gone = append(in.gone, old.result.Objects...)
}

// count adds a file to the sums, or takes it away.
func (in *input) count(f *inputFile, sign int) {
	in.reshaped = in.reshaped || len(f.result.LeftOut) > 0
	for kind, n := range f.result.Ignored {
		add(in.ignored, kind, sign*n)
	}
	for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
		add(in.folders, dir, sign)
	}
}

// add adds to one of several sums, of which those that are zero are not there.
func add(sums map[string]int, key string, n int) {
	if sums[key] += n; sums[key] == 0 {
		delete(sums, key)
	}
}

func (s *source) parseOne(rd *repo.Reader, f *inputFile, opts manifest.Options) error {
	if f.blob.IsZero() {
		return nil // refused already
	}
	data, err := rd.Blob(f.blob, manifest.MaxFileBytes)
	if errors.Is(err, repo.ErrTooLarge) {
		f.result = manifest.TooLarge(manifest.File{Source: s.label, Path: f.path})
		return nil
	}
	if err != nil {
		return err
	}
	f.bytes = len(data)
	f.result = manifest.Parse(manifest.File{Source: s.label, Path: f.path, Data: data}, opts)
	if base := path.Base(f.path); base == "kustomization.yaml" || base == "kustomization.yml" {
		f.result.Diags = append(f.result.Diags, diag.Diagnostic{
			Severity: diag.Warning, Code: diag.PlainManifests, Source: s.label, File: f.path,
			Message: "the folder's files are read as plain manifests: kustomizations are not built",
			Hint:    "build it first and commit the result, if patches or generators matter",
		})
	}
	return nil
}
