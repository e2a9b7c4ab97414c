package source

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/budget"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/inputs/chart"
)

// Sources has the sources of a pipeline with their contents. It is not safe for concurrent use.
type Sources struct {
	List []*Source
	// Namespaces are the Namespaces in the pipeline. Manifests replace them.
	Namespaces []*manifest.Object
	// MayBeEmpty accepts paths without a manifest.
	MayBeEmpty bool
	objects    *manifest.Set // the result of the last Read
}

// Inputs has the objects of the sources at their commits.
type Inputs struct {
	Sources []*Source
	Commits []*object.Commit // of each source
	Objects *manifest.Set    // of all sources
	// Namespaces are the Namespaces in the pipeline, for names that no source defines.
	Namespaces []*manifest.Object
	Missing    []Missing
	Ignored    map[string]int // the number of objects of each kind that is not read, by "apiVersion Kind"
	Hidden     int            // the number of files that a .sourceignore file hides
	Parsed     int            // how many objects were parsed that can be stored
	Charts     chart.Uses     // the fetched charts
	Unset      []Unset        // charts that nothing gives values
	Diags      diag.List      // about files, not about objects
}

// Unset is a folder with a chart that nothing renders, or only with its default values.
type Unset struct {
	Source   string // its label
	Folder   string
	Rendered bool
}

// Missing is a path in the pipeline that its source does not have.
type Missing struct {
	Source int // the index of the source
	Path   string
	Reason diag.Diagnostic
}

// Read reads the sources at their commits. It reads and parses only blobs that are new since the last call.
func (s *Sources) Read(pass *budget.Pass, commits []*object.Commit, opts manifest.Options) (*Inputs, error) {
	in := &Inputs{Sources: s.List, Commits: commits, Namespaces: slices.Clone(s.Namespaces), Ignored: map[string]int{},
		Charts: chart.Uses{}}
	for i, src := range s.List {
		if err := src.Update(pass, src.trees(s.List, commits), src.options(opts)); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", commits[i].Hash, src.Repo.URL(), err)
		}
		for _, f := range src.Input.FaultyFiles() {
			in.Diags = append(in.Diags, f.Result.Diags...)
		}
		maps.Copy(in.Charts, src.Input.charts())
		for kind, n := range src.Input.Ignored {
			in.Ignored[kind] += n
		}
		in.Hidden += src.Input.hidden
		in.Parsed += src.Input.parsed
		if err := in.findMissing(i, s.MayBeEmpty); err != nil {
			return nil, err
		}
	}
	in.Unset = s.unset()
	in.addState()
	in.Objects = s.merge()
	s.objects = in.Objects
	return in, nil
}

// unset returns the charts in the sources that nothing renders, or only with their default values.
func (s *Sources) unset() (out []Unset) {
	read := map[string]bool{} // folders of charts that builds have read, also as @NAME/FOLDER
	for _, src := range s.List {
		for _, f := range src.Input.Files {
			if f.root == nil {
				continue
			}
			for name, how := range f.root.reads {
				if path.Base(name) == chart.FileName && strings.HasPrefix(how, "content ") {
					read[path.Dir(name)] = true
				}
			}
		}
	}
	isRead := func(folder string) bool {
		if read[folder] {
			return true
		}
		for name := range read { // by another source
			if strings.HasPrefix(name, "@") && strings.HasSuffix(name, "/"+folder) {
				return true
			}
		}
		return false
	}
	for _, src := range s.List {
		for _, folder := range src.Input.layout.ChartFolders {
			if !isRead(folder) {
				out = append(out, Unset{Source: src.Label, Folder: folder})
			}
		}
		for _, folder := range src.Input.layout.DefaultCharts() {
			out = append(out, Unset{src.Label, folder, true})
		}
	}
	return out
}

// addState adds what the folders with the state of the cluster say. The Namespaces of the pipeline come first.
func (in *Inputs) addState() {
	labels, folder, isThere := map[string]map[string]string{}, "", false
	for _, src := range in.Sources {
		state := src.Input.layout.State()
		folder, isThere = src.BuildSpec.Cluster, isThere || state.IsThere()
		for _, d := range state.Diags {
			d.Source = src.Label
			in.Diags = append(in.Diags, d)
		}
		maps.Copy(labels, state.Namespaces)
	}
	for _, o := range in.Namespaces {
		delete(labels, o.Name)
	}
	in.Namespaces = append(in.Namespaces, manifest.Namespaces(labels, folder).Objects...)
	if folder != "" && !isThere {
		in.Diags = append(in.Diags, diag.SourcePathMissing.
			At("", "spec.build.cluster: no source has the folder %s", folder).
			WithHint("correct it, or write it with agentry import --cluster-state "+folder).
			Naming(folder))
	}
}

// findMissing finds paths with nothing to read. They are more likely misspelt than emptied, so their objects do not
// count as deleted. mayBeEmpty accepts paths that exist.
func (in *Inputs) findMissing(i int, mayBeEmpty bool) error {
	src, commit := in.Sources[i], in.Commits[i]
	read := distinct(src.Paths)
	for _, want := range src.Paths {
		want = path.Clean(want)
		f := src.Input.Files[want]
		if want == "." || f != nil && !f.isEmpty() || f == nil && src.Input.Below(want) {
			continue
		}
		above := slices.IndexFunc(read, func(p string) bool { return p != want && pipeline.Within(p, want) })
		if above >= 0 && src.Input.Reads(want) { // the path above builds it
			continue
		}
		rd := src.Repo.Reader()
		_, err := rd.Lookup(commit.Tree, want)
		rd.Close()
		found := diag.Diagnostic{Severity: diag.Error, Code: diag.SourcePathMissing, File: want,
			Hint: "correct sources[].paths, or create the folder"}
		at := fmt.Sprintf(" in commit %s of %s", pipeline.ShortID(commit.Hash.String()), src.Repo.URL())
		if src.IsLocal {
			at, found.Source = "", src.Label
		}
		switch {
		case err == nil && mayBeEmpty:
			continue
		case err == nil:
			found = diag.Diagnostic{Severity: diag.Error, Code: diag.EmptyInput, Source: found.Source, File: want,
				Message: "holds no manifest" + at,
				Hint:    "correct sources[].paths; or set limits.allowEmpty if it should be empty"}
			if above >= 0 {
				found.Message = "is a part of the path " + read[above] + ", which builds nothing of it" + at
				found.Hint = "name it in the kustomization of " + read[above] + ", or remove one of the two paths"
			}
			if slices.Contains(src.Input.layout.ChartFolders, want) {
				found.Message, found.Hint = "is a Helm chart, which is not read as manifests"+at,
					"name what renders it in sources[].paths: a kustomization with helmCharts, a HelmRelease or an "+
						"Application"
			}
		case errors.Is(err, object.ErrPathNotFound):
			if found.Message = "is not" + at; src.IsLocal {
				found.Message = "does not exist"
			}
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

// Index returns the index of the source with the URL and ref, or -1. Of several it is the one that reads the file, else
// the first.
func (in *Inputs) Index(url, ref, file string) int {
	first := -1
	for i, s := range in.Sources {
		switch {
		case s.RefName() != ref || !pipeline.SameRepository(s.Repo.URL(), url):
		case slices.ContainsFunc(s.Paths, func(p string) bool { return pipeline.Within(path.Clean(p), file) }):
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

// merge merges the objects of all files. If possible, it updates the last set, so that the cost depends on the size of
// the change.
func (s *Sources) merge() *manifest.Set {
	var removed, added []*manifest.Object
	rebuild := s.objects == nil
	for _, src := range s.List {
		in := &src.Input
		removed, added = append(removed, in.removed...), append(added, in.added...)
		rebuild = rebuild || in.rebuild
		in.removed, in.added, in.rebuild = nil, nil, false
	}
	if !rebuild {
		if set, ok := s.objects.Change(removed, added); ok {
			return set
		}
	}
	files := 0
	for _, src := range s.List {
		files += len(src.Input.Files)
	}
	results := make([]manifest.Result, 0, files)
	for _, src := range s.List {
		for _, name := range slices.Sorted(maps.Keys(src.Input.Files)) {
			results = append(results, src.Input.Files[name].Result)
		}
	}
	return manifest.NewSet(results...)
}

// Forget drops the contents of all sources. The next Read reads them again.
func (s *Sources) Forget() {
	s.objects = nil
	for _, src := range s.List {
		src.forget()
	}
}

// Size returns the estimated bytes that are kept between passes.
func (s *Sources) Size() int64 {
	var size int64
	for _, src := range s.List {
		size += src.size()
	}
	return size
}
