package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// locals returns what stands in for sources of a pipeline. It adds a source for each folder that stands in for what
// only a custom resource names.
func (s *session) locals(ctx context.Context, p *pipelinefile.Pipeline) (out []*local, err error) {
	spec := &p.Spec
	add := func(i int, l local) {
		l.index, l.label = i, fmt.Sprintf("(checkout %d)", i)
		out = append(out, &l)
	}
	isKnown := slices.ContainsFunc(s.trees, func(t *workTree) bool { return len(t.standsFor(spec)) > 0 })
	for i, t := range s.trees {
		sources := []int{i} // of a pipeline that was made for them
		if s.file != "" {
			if sources = t.standsFor(spec); s.isReplaced(t, spec, sources) {
				sources = nil
			} else if guess := t.guess(spec, sources); guess != "" {
				s.note("%s", guess)
			}
			if !isKnown && len(spec.Sources) == 1 {
				if only := s.onlySource(t, spec.Sources[0]); only != nil {
					t, sources = only, []int{0}
				} else if s.Only {
					sources = []int{0} // it is named in its place
				}
			}
		}
		for _, n := range sources {
			if slices.ContainsFunc(out, func(l *local) bool { return l.index == n }) {
				continue // another checkout of the same repository is nearer
			}
			l, err := s.open(ctx, t)
			if err != nil {
				return nil, err
			}
			s.adapt(&spec.Sources[n], t)
			add(n, l)
		}
	}
	if s.memory != nil {
		i := len(s.trees)
		if s.file != "" {
			i = 0
			spec.Sources[i].Paths, spec.Sources[i].Build = []string{Stdin}, inputs.Plain
			out = slices.DeleteFunc(out, func(l *local) bool { return l.index == i })
		}
		add(i, local{objects: s.memory, commit: s.memory.ID(), memory: s.memory})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		if err := s.replace(ctx, spec, name, add, &out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// adapt makes a source that a work tree stands in for be as the request says.
func (s *session) adapt(src *pipeline.Source, t *workTree) {
	if s.file == "" {
		return
	}
	if s.Build != "" {
		src.Build = inputs.Mode(s.Build)
	}
	if s.Only {
		src.Paths = t.named()
	}
}

// sourceOf returns the index of the source with a name or URL, or that sourceRefs give for a custom resource, or -1.
func sourceOf(spec *pipeline.Spec, name string) int {
	name = cmp.Or(spec.SourceRefs[name], name)
	return slices.IndexFunc(spec.Sources, func(src pipeline.Source) bool {
		return src.Name == name || pipeline.SameRepository(src.URL, name)
	})
}

// isReplaced reports whether the request says which of several sources of its repository a work tree stands in for.
func (s *session) isReplaced(t *workTree, spec *pipeline.Spec, guessed []int) bool {
	for name, folder := range s.Sources {
		at, err := realPath(folder)
		i := sourceOf(spec, name)
		if err == nil && at == t.top && i >= 0 && slices.ContainsFunc(guessed, func(n int) bool {
			return pipeline.SameRepository(spec.Sources[n].URL, spec.Sources[i].URL)
		}) {
			return true
		}
	}
	return false
}

// replace makes a folder stand in for a source, by its name or URL, or for what a custom resource names.
func (s *session) replace(ctx context.Context, spec *pipeline.Spec, name string, add func(int, local),
	out *[]*local) error {
	at, err := realPath(s.Sources[name])
	if err != nil {
		return err
	}
	i := sourceOf(spec, name)
	t := &workTree{top: at, isRepo: checkout.Top(at) == at}
	if n := slices.IndexFunc(s.trees, func(t *workTree) bool { return t.top == at }); n >= 0 {
		t = s.trees[n] // with the paths that are in it
	}
	if i < 0 || s.file == "" {
		i = len(spec.Sources)
		alias := fmt.Sprintf("source-%d", i)
		spec.Sources = append(slices.Clip(spec.Sources), pipeline.Source{Name: alias, URL: fileURL(at),
			Ref: pipeline.Ref{Branch: "HEAD"}, Build: inputs.Auto})
		refs := map[string]string{name: alias}
		maps.Copy(refs, spec.SourceRefs)
		spec.SourceRefs = refs
	}
	l, err := s.openFolder(ctx, t)
	if err != nil {
		return err
	}
	*out = slices.DeleteFunc(*out, func(l *local) bool { return l.index == i })
	add(i, l)
	return nil
}

// open opens a work tree, once: its files, or a revision of it.
func (s *session) open(ctx context.Context, t *workTree) (local, error) {
	if known, ok := s.opened[t]; ok {
		return known, nil
	}
	l, err := s.openAnew(ctx, t)
	if err == nil {
		s.opened[t] = l
	}
	return l, err
}

func (s *session) openAnew(ctx context.Context, t *workTree) (local, error) {
	if s.Revision == "" {
		return s.openFolder(ctx, t)
	}
	top := checkout.Top(t.top)
	if top == "" {
		return local{}, command.Usagef("run it in a clone",
			"%s is not a revision: this folder is not in a Git repository", s.Revision)
	}
	r := checkout.OpenRepository(top)
	s.ends = append(s.ends, r.Close)
	commit := plumbing.NewHash(s.Revision)
	if !plumbing.IsHash(s.Revision) {
		var err error
		if commit, err = r.Resolve(ctx, s.Revision); err != nil {
			if !errors.Is(err, checkout.ErrUnknownRevision) {
				return local{}, err
			}
			return local{}, command.Usagef("name a revision as git knows it",
				"%s is not a revision of the repository %s", s.Revision, top)
		}
	}
	l := local{commit: commit, objects: r, tree: t, revision: cmp.Or(s.RevisionName, s.Revision)}
	l.tags, _ = r.Tags(ctx, commit) // a commit that is not there is reported when it is read
	if t.top == top {
		return l, nil
	}
	in, err := filepath.Rel(top, t.top)
	if err != nil {
		return l, err
	}
	l.in = filepath.ToSlash(in)
	of, err := r.OpenSubfolder(commit, l.in)
	if err != nil {
		return l, err
	}
	l.commit, l.objects = of.ID(), of
	return l, nil
}

// openFolder opens the files of a work tree as they are. Those of the last commit are that commit: what its message
// allows counts.
func (s *session) openFolder(ctx context.Context, t *workTree) (local, error) {
	isExact := s.file != "" && !s.Offline
	f, err := checkout.OpenFolder(t.top, checkout.FolderOptions{Named: t.named(), Skip: s.Skip, Exact: isExact})
	if err != nil {
		return local{}, err
	}
	s.ends = append(s.ends, f.Close)
	var tags []string
	if s.file != "" && t.isRepo {
		if tags, err = readHead(ctx, f, t.top, isExact); err != nil {
			s.note("the last commit is not read: %v", err)
		}
	}
	return local{commit: f.ID(), isDraft: f.IsDraft(), tags: tags, objects: f, tree: t, folder: f}, nil
}

// readHead returns the tags of the last commit of a repository. If standsFor is set, it makes the folder be that commit
// if the files are the same.
func readHead(ctx context.Context, f *checkout.Folder, top string, standsFor bool) (tags []string, err error) {
	r := checkout.OpenRepository(top)
	defer r.Close()
	id, err := r.Resolve(ctx, "HEAD")
	if err != nil {
		return nil, nil //nolint:nilerr // there is none yet
	}
	if tags, err = r.Tags(ctx, id); err != nil || !standsFor {
		return tags, err
	}
	rd := checkout.Reader(r)
	defer rd.Close()
	head, err := rd.Commit(id)
	if err != nil {
		return tags, err
	}
	return tags, f.StandFor(head, rd)
}
