package source

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// Sources are the sources of a pipeline, with what was read of them. They are not safe for concurrent use.
type Sources struct {
	List []*Source
	// Namespaces are those that the pipeline defines. Manifests replace them.
	Namespaces []*manifest.Object
	// MayBeEmpty accepts paths that hold no manifest.
	MayBeEmpty bool
	objects    *manifest.Set // of the last Read
}

// Inputs are what the sources define at their commits.
type Inputs struct {
	Sources []*Source
	Commits []*object.Commit // of each source
	Objects *manifest.Set    // of all sources
	// Namespaces are those that the pipeline defines, for the ones that no source does.
	Namespaces []*manifest.Object
	Missing    []Missing
	Ignored    map[string]int // objects of kinds that are not read, by "apiVersion Kind"
	Charts     chart.Uses     // that are fetched
	Diags      diag.List      // of files, not of objects
}

// Missing is a path that the pipeline names and a source does not have.
type Missing struct {
	Source int // the index of the source
	Path   string
	Reason diag.Diagnostic
}

// Read reads the sources at their commits. It reads and parses only blobs that are new since the last call.
func (s *Sources) Read(pass *budget.Pass, commits []*object.Commit, opts manifest.Options) (*Inputs, error) {
	in := &Inputs{Sources: s.List, Commits: commits, Namespaces: s.Namespaces, Ignored: map[string]int{},
		Charts: chart.Uses{}}
	for i, src := range s.List {
		if err := src.Update(pass, src.trees(s.List, commits), src.held(opts)); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", commits[i].Hash, src.Repo.URL(), err)
		}
		for _, f := range src.Input.OddFiles() {
			in.Diags = append(in.Diags, f.Result.Diags...)
		}
		maps.Copy(in.Charts, src.Input.charts())
		for kind, n := range src.Input.Ignored {
			in.Ignored[kind] += n
		}
		if n := len(src.Input.layout.ChartFolders); n > 0 {
			in.Ignored[inputs.IgnoredChart] += n
		}
		if err := in.findMissing(i, s.MayBeEmpty); err != nil {
			return nil, err
		}
	}
	in.Objects = s.merge()
	s.objects = in.Objects
	return in, nil
}

// findMissing finds paths that hold nothing to read: they are more likely misspelt than emptied, so none of their
// objects counts as deleted. mayBeEmpty accepts those that exist.
func (in *Inputs) findMissing(i int, mayBeEmpty bool) error {
	src, commit := in.Sources[i], in.Commits[i]
	for _, want := range src.Paths {
		want = path.Clean(want)
		if want == "." || src.Input.Below(want) {
			continue
		}
		rd := src.Repo.Reader()
		_, err := rd.Lookup(commit.Tree, want)
		rd.Close()
		found := diag.Diagnostic{Severity: diag.Error, Code: diag.SourcePathMissing, File: want,
			Hint: "correct sources[].paths, or create the folder"}
		at := fmt.Sprintf("in commit %s of %s", pipeline.ShortID(commit.Hash.String()), src.Repo.URL())
		switch {
		case err == nil && mayBeEmpty:
			continue
		case err == nil:
			found.Code, found.Message, found.Hint = diag.EmptyInput, "holds no manifest "+at,
				"correct sources[].paths; or set limits.allowEmpty if it is meant"
			if slices.Contains(src.Input.layout.ChartFolders, want) {
				found.Message, found.Hint = "is a Helm chart, of which nothing is read, "+at,
					"name it in helmCharts of a kustomization, and the kustomization in sources[].paths"
			}
		case errors.Is(err, object.ErrPathNotFound):
			found.Message = "is not " + at
		default:
			return err
		}
		in.Missing = append(in.Missing, Missing{i, want, found})
		in.Diags = append(in.Diags, found)
	}
	return nil
}

// SourceOf returns the index of the source that defines an object, or 0 if none does.
func (in *Inputs) SourceOf(o *manifest.Object) int {
	return max(0, slices.IndexFunc(in.Sources, func(s *Source) bool {
		f := s.Input.Files[o.File()]
		return f != nil && slices.Contains(f.Result.Objects, o)
	}))
}

// Index returns the index of the source with a URL and a ref, or -1.
func (in *Inputs) Index(url, ref string) int {
	return slices.IndexFunc(in.Sources, func(s *Source) bool { return s.Repo.URL() == url && s.RefName() == ref })
}

// merge merges the objects of all files. If possible, it updates the last set, so that the cost depends on the
// change.
func (s *Sources) merge() *manifest.Set {
	var gone, came []*manifest.Object
	reshaped := s.objects == nil
	for _, src := range s.List {
		in := &src.Input
		gone, came, reshaped = append(gone, in.gone...), append(came, in.came...), reshaped || in.reshaped
		in.gone, in.came, in.reshaped = nil, nil, false
	}
	if !reshaped {
		if set, ok := s.objects.Change(gone, came); ok {
			return set
		}
	}
	var results []manifest.Result
	for _, src := range s.List {
		for _, name := range slices.Sorted(maps.Keys(src.Input.Files)) {
			results = append(results, src.Input.Files[name].Result)
		}
	}
	return manifest.NewSet(results...)
}

// Forget drops what was read. The next Read reads it again.
func (s *Sources) Forget() {
	s.objects = nil
	for _, src := range s.List {
		src.forget()
	}
}

// Size estimates how many bytes are kept between passes.
func (s *Sources) Size() int64 {
	var size int64
	for _, src := range s.List {
		size += src.size()
	}
	return size
}
