package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/source"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/sops"
	"github.com/agentry-dev/agentry/internal/checkout"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// session is what the passes of one request share: the pipelines, and what is on this machine.
type session struct {
	Request
	trees []*workTree // that the paths are in; without paths the one of the pipeline file
	// memory is standard input, or the files of the request.
	memory *checkout.Files
	file   string                   // the pipeline file that governs; empty: there is none
	text   []byte                   // of a file that only one of two compared revisions has
	inFile []pipeline.Spec          // the sources of all pipelines in the file, as they are written
	fleet  []*pipelinefile.Pipeline // what of it is asked for, with forEach expanded
	notes  []string                 // about the pipelines, for people
	away   []string                 // templates whose folders may not be listed

	folders map[string]*workTree // in the trees, that are trees of their own
	opened  map[*workTree]local  // what was opened
	ends    []func()
}

// open finds the pipelines of a request.
func open(ctx context.Context, request Request) (s *session, err error) {
	s = &session{Request: request, opened: map[*workTree]local{}, folders: map[string]*workTree{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.share()
	paths := slices.DeleteFunc(slices.Clone(request.Paths), func(name string) bool { return name == Stdin })
	if s.trees, err = locate(paths, request.Revision != ""); err != nil {
		return s, err
	}
	if len(paths) < len(request.Paths) {
		text, err := readStdin(request.Stdin)
		if err != nil {
			return s, err
		}
		s.memory = checkout.NewFiles(map[string][]byte{Stdin: text})
	} else if request.Files != nil {
		s.memory = checkout.NewFiles(request.Files)
	}
	if err = checkSources(request.Sources); err != nil {
		return s, err
	}
	if s.file, err = s.governing(ctx); err != nil {
		return s, err
	}
	if s.file == "" {
		s.fleet, err = s.alone()
		return s, err
	}
	if len(s.trees) == 0 {
		if s.trees, err = s.treesOfFile(); err != nil {
			return s, err
		}
	}
	if s.fleet, err = s.fromFile(ctx); err == nil {
		err = s.checkSourceNames()
	}
	return s, err
}

// checkSourceNames refuses a name in place of which a folder is to be read, if no source has it. What a custom resource
// refers to is only known later.
func (s *session) checkSourceNames() error {
	var known []string
	for _, p := range s.fleet {
		for _, src := range p.Spec.Sources {
			known = append(known, cmp.Or(src.Name, src.URL))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sources)) {
		if strings.ContainsAny(name, "/:") || slices.Contains(known, name) {
			continue
		}
		slices.Sort(known)
		hint := cmp.Or(diag.DidYouMean(name, known), "its sources: "+strings.Join(slices.Compact(known), ", "))
		return command.Usagef(hint, "--source %s: %s has no source of this name", name, s.file)
	}
	return nil
}

// share gives all pipelines the same repositories, and programs that build.
func (s *session) share() {
	o := &s.Options
	o.Pool = repo.NewPool(o.CacheDir, o.Repo)
	o.Charts, o.Kustomize, o.SOPS = helm.NewWorkers(helm.Options{}), kustomizer.NewWorkers(kustomizer.Options{}),
		sops.NewWorkers(sops.Options{})
	s.ends = append(s.ends, o.Pool.Close, o.Charts.Close, o.Kustomize.Close, o.SOPS.Close)
}

func (s *session) close() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

// governing returns the pipeline file that governs, or "".
func (s *session) governing(ctx context.Context) (string, error) {
	switch {
	case s.File != "":
		return s.File, nil
	case s.Alone:
		return "", nil
	}
	folder, err := workingFolder()
	if err != nil {
		return "", err
	}
	here := folder
	if len(s.trees) > 0 {
		folder = s.trees[0].places[0].disk
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
	}
	file, err := governing(folder)
	if err == nil && file == "" {
		file, err = s.committed(ctx, folder)
	}
	if below, failed := filepath.Rel(here, file); failed == nil && file != "" {
		file = below // as people would type it
	}
	return file, err
}

// committed returns the pipeline file that governs a folder in a revision that is compared, or "". It is for files that
// a change removes or adds.
func (s *session) committed(ctx context.Context, folder string) (string, error) {
	top := checkout.Top(folder)
	if top == "" {
		return "", nil
	}
	r := checkout.OpenRepository(top)
	defer r.Close()
	rd := checkout.Reader(r)
	defer rd.Close()
	below, err := filepath.Rel(top, folder)
	if err != nil {
		return "", err
	}
	for i, revision := range []string{s.Revision, s.Beside} {
		if revision == "" {
			continue
		}
		id, err := r.Resolve(ctx, revision)
		if err != nil {
			continue // it is of a source
		}
		commit, err := rd.Commit(id)
		if err != nil {
			return "", err
		}
		file, text := governingIn(rd.Files(commit.Tree), filepath.ToSlash(below))
		if text == nil {
			continue
		}
		s.text = text
		if i > 0 {
			s.note("%s: no pipeline file, so %s of %s is used", cmp.Or(s.RevisionName, s.Revision, "the files at hand"),
				file, cmp.Or(s.BesideName, s.Beside))
		}
		return filepath.Join(top, filepath.FromSlash(file)), nil
	}
	return "", nil
}

// governingIn returns the pipeline file in a folder or above it, with its text, or nothing.
func governingIn(files fs.ReadFileFS, folder string) (file string, text []byte) {
	for {
		for _, name := range pipelinefile.Names() {
			file = path.Join(folder, name)
			if text, err := files.ReadFile(file); err == nil && pipelinefile.IsMeant(text) {
				return file, text
			}
		}
		if folder == "." {
			return "", nil
		}
		folder = path.Dir(folder)
	}
}

// treesOfFile returns the work tree of the current folder, and that of the pipeline file if it is another one. A file
// that was found is in a folder that may be a tree, even without a repository.
func (s *session) treesOfFile() ([]*workTree, error) {
	here, err := workingFolder()
	if err != nil {
		return nil, err
	}
	folder := s.folder()
	tops := []string{checkout.Top(here)}
	if s.file != Stdin {
		tops = append(tops, checkout.Top(folder))
	}
	var trees []*workTree
	for _, top := range slices.Compact(tops) {
		if top != "" {
			trees = append(trees, &workTree{top: top, isRepo: true})
		}
	}
	if len(trees) == 0 && s.File == "" {
		trees = []*workTree{{top: folder}}
	}
	return trees, nil
}

// folder returns the folder of the pipeline file.
func (s *session) folder() string {
	at := resolved(s.file)
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		return at
	}
	return filepath.Dir(at)
}

// alone returns the pipeline that reads the paths with the defaults.
func (s *session) alone() ([]*pipelinefile.Pipeline, error) {
	if len(s.Paths) == 0 && s.Here {
		var err error
		if s.trees, err = locate([]string{"."}, false); err != nil {
			return nil, err
		}
	} else if len(s.Paths) == 0 && s.memory == nil {
		return nil, command.Usagef("name folders or files, . for this folder, or - for standard input; or a pipeline "+
			"file with -f", "no PATH is given")
	}
	var sources []any
	for i, t := range s.trees {
		of := t.source(s.Build)
		if len(s.trees) > 1 {
			of["name"] = fmt.Sprintf("paths-%d", i)
		}
		sources = append(sources, of)
	}
	if s.memory != nil {
		paths := []any{Stdin}
		if s.Files != nil {
			paths = []any{"."}
		}
		sources = append(sources, map[string]any{"name": "stdin", "url": "file:///dev/stdin",
			"ref": map[string]any{"branch": "HEAD"}, "paths": paths, "build": string(inputs.Plain)})
	}
	spec := map[string]any{"sources": sources, "output": map[string]any{"branch": "agentry/dry-run"}}
	maps.Copy(spec, s.Spec)
	p, found := pipelinefile.Make(spec, s.Set...)
	if found.HasErrors() {
		return nil, &Misconfigured{Found: found}
	}
	for i, t := range s.trees {
		p.Spec.Sources[i].URL = cmp.Or(t.origin(), p.Spec.Sources[i].URL)
	}
	p.Spec.Build.SharesPaths = len(sources) > 1
	return []*pipelinefile.Pipeline{p}, nil
}

// source returns a source of a pipeline that only names the tree.
func (w *workTree) source(build string) map[string]any {
	var paths []any
	for _, in := range w.named() {
		paths = append(paths, in)
	}
	at := fileURL(w.top)
	if origin := w.origin(); origin != "" {
		at = "https://" + pipeline.RepositoryAddress(origin) // for which a pipeline needs no key
	}
	out := map[string]any{"url": at, "ref": map[string]any{"branch": "HEAD"}, "paths": paths}
	if build != "" {
		out["build"] = build
	}
	return out
}

// origin returns the normalised URL of the remote origin, which custom resources of Flux and Argo CD name, or "".
func (w *workTree) origin() string {
	normal, err := transport.NormaliseURL(checkout.Remotes(w.top)["origin"])
	if err != nil || hostOf(normal) == "" {
		return ""
	}
	return normal
}

func fileURL(folder string) string {
	at := url.URL{Scheme: "file", Path: filepath.ToSlash(folder)}
	return at.String()
}

// read reads the pipelines of the file, or of all files of the folder that stands for it.
func (s *session) read(ctx context.Context) (fleet []*pipelinefile.Pipeline, err error) {
	if s.text != nil {
		return s.parse(s.file, s.text)
	}
	names := []string{Stdin}
	if s.file != Stdin {
		if names, err = pipelinefile.Files(s.file); err != nil {
			return nil, command.Usagef("", "%s: %v", s.file, err)
		}
	}
	for _, name := range names {
		read := pipelinefile.ReadFile
		if name == Stdin {
			read = func(string) ([]byte, error) { return readStdin(s.Stdin) }
		}
		pipelines, err := s.atRevision(ctx, name)
		if err != nil {
			return nil, err
		}
		if pipelines == nil {
			text, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("read the pipeline file: %w", err)
			}
			if pipelines, err = s.parse(name, text); err != nil {
				return nil, err
			}
		}
		fleet = append(fleet, pipelines...)
	}
	return fleet, nil
}

// parse reads the pipelines of a text.
func (s *session) parse(name string, text []byte) ([]*pipelinefile.Pipeline, error) {
	fleet, found := pipelinefile.Parse(name, text, s.Set...)
	if found.HasErrors() {
		return nil, &Misconfigured{Found: found, File: manifest.File{Path: name, Data: text}}
	}
	return fleet, nil
}

// atRevision reads a pipeline file as it is at the revision, so that what a change of the file does is compared as
// well. It returns nothing if there is no revision, or no valid file in it: then the file at hand is about it.
func (s *session) atRevision(ctx context.Context, name string) ([]*pipelinefile.Pipeline, error) {
	at := resolved(name)
	i := slices.IndexFunc(s.trees, func(t *workTree) bool { return within(t.top, at) })
	if s.Revision == "" || name == Stdin || i < 0 || checkout.Top(s.trees[i].top) == "" {
		return nil, nil
	}
	l, err := s.open(ctx, s.trees[i])
	if err != nil {
		if plumbing.IsHash(s.Revision) {
			return nil, err
		}
		return nil, nil // a source may know the revision
	}
	rd := checkout.Reader(l.objects)
	defer rd.Close()
	commit, err := rd.Commit(l.commit)
	if err != nil {
		return nil, err
	}
	in, err := filepath.Rel(s.trees[i].top, at)
	if err != nil {
		return nil, err
	}
	text, err := rd.Files(commit.Tree).ReadFile(filepath.ToSlash(in))
	if err != nil {
		s.note("%s has no %s: the one at hand is used", l.revision, name)
		return nil, nil
	}
	fleet, found := pipelinefile.Parse(name, text, s.Set...)
	if found.HasErrors() {
		s.note("%s:%s is not valid: the one at hand is used", l.revision, name)
		return nil, nil
	}
	return fleet, nil
}

func (s *session) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// fromFile reads the pipelines that govern, and expands forEach.
func (s *session) fromFile(ctx context.Context) ([]*pipelinefile.Pipeline, error) {
	fleet, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range fleet {
		s.inFile = append(s.inFile, pipeline.Spec{Sources: slices.Clone(p.Spec.Sources)})
	}
	if p := named(fleet, s.Pipeline); p != nil && p.Spec.ForEach == "" {
		return []*pipelinefile.Pipeline{p}, nil
	}
	fleet, found, err := pipelinefile.Expand(ctx, fleet, pipelinefile.ExpandOptions{CacheDir: s.Options.CacheDir,
		Getenv: s.Getenv, Folders: s.foldersOf, MayList: s.mayList, Suspended: true})
	switch {
	case err != nil:
		return nil, command.RepositoryError(err, pipeline.Remedy(err))
	case found.HasErrors():
		return nil, &Misconfigured{Found: found}
	case len(fleet) == 0 && len(s.away) > 0:
		return nil, s.checkAway(nil)
	case len(fleet) == 0:
		return nil, command.Usagef("", "%s makes no pipeline of any folder", s.file)
	case s.Pipeline == "":
		return fleet, nil
	}
	if p := named(fleet, s.Pipeline); p != nil {
		return []*pipelinefile.Pipeline{p}, nil
	}
	var names []string
	for _, p := range fleet {
		names = append(names, p.Metadata.Name)
	}
	return nil, command.Usagef(diag.DidYouMean(s.Pipeline, names), "%s holds no pipeline %q", s.file, s.Pipeline)
}

// named returns the pipeline with the name, or nil.
func named(fleet []*pipelinefile.Pipeline, name string) *pipelinefile.Pipeline {
	i := slices.IndexFunc(fleet, func(p *pipelinefile.Pipeline) bool { return p.Metadata.Name == name })
	if i < 0 {
		return nil
	}
	return fleet[i]
}

// foldersOf returns the folders that forEach of a pipeline matches, if its first source is on this machine.
func (s *session) foldersOf(ctx context.Context, p *pipelinefile.Pipeline) (found []string, isLocal bool, err error) {
	locals, err := s.locals(ctx, p)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(locals, func(l *local) bool { return l.index == 0 })
	if i < 0 {
		return nil, false, nil
	}
	rd := checkout.Reader(locals[i].objects)
	defer rd.Close()
	at, err := rd.Commit(locals[i].commit)
	if err != nil {
		return nil, true, err
	}
	found, err = source.Folders(rd, at.Tree, p.Spec.ForEach)
	return found, true, err
}

// hasAny reports whether a tree has any of some paths.
func (w *workTree) hasAny(paths []string) bool {
	return slices.ContainsFunc(paths, func(in string) bool {
		_, err := os.Stat(filepath.Join(w.top, filepath.FromSlash(in)))
		return err == nil
	})
}
