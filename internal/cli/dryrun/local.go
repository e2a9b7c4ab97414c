package dryrun

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/object"
	"github.com/agentry-dev/agentry/internal/checkout"
)

// local is what is read from this machine in place of a source.
type local struct {
	index    int // of the source in the pipeline
	commit   plumbing.Hash
	isDraft  bool     // the commit is made up
	tags     []string // of the commit, or of the one that is checked out
	objects  object.Objects
	label    string           // of its files in findings, until they have the names that people know
	tree     *workTree        // nil for files in memory
	folder   *checkout.Folder // nil unless it is the files as they are
	revision string           // of the tree; empty: the files as they are
	in       string           // the path of the tree in the repository of the revision
	memory   *checkout.Files  // nil unless it is standard input, or the files of the request
}

// paths returns the paths that were named in it.
func (l *local) paths() []string {
	if l.tree == nil {
		return nil
	}
	return l.tree.named()
}

// isAsIs reports whether an id is that of the files as they are: nobody knows it.
func (l *local) isAsIs(id string) bool { return l.isDraft && l.commit.String() == id }

// name returns the name that people know of a file.
func (l *local) name(file string) string {
	switch {
	case file == "" || l.tree == nil:
		return file
	case l.revision != "":
		return l.revision + ":" + path.Join(l.in, file)
	}
	return l.tree.show(file)
}

// text returns the text of a file by the name that people know, or nil.
func (l *local) text(name string) []byte {
	switch {
	case l.memory != nil:
		return l.memory.Text(name)
	case l.folder != nil:
		below, err := filepath.Rel(l.tree.top, resolved(name))
		if err != nil || !filepath.IsLocal(below) {
			return nil
		}
		return l.folder.Text(filepath.ToSlash(below))
	}
	file, found := strings.CutPrefix(name, l.revision+":")
	if found && l.in != "" {
		file, found = strings.CutPrefix(file, l.in+"/")
	}
	if !found {
		return nil
	}
	rd := checkout.Reader(l.objects)
	defer rd.Close()
	commit, err := rd.Commit(l.commit)
	if err != nil {
		return nil
	}
	text, err := rd.Files(commit.Tree).ReadFile(file)
	if err != nil {
		return nil
	}
	return text
}

// standsFor returns the sources of a pipeline that a work tree stands in for: those of the same repository, by the URLs
// of its remotes.
func (w *workTree) standsFor(spec *pipeline.Spec) []int {
	known := []string{pipeline.RepositoryAddress(fileURL(w.top))}
	for _, url := range checkout.Remotes(w.top) {
		known = append(known, pipeline.RepositoryAddress(url))
	}
	var found []int
	for i, src := range spec.Sources {
		if slices.Contains(known, pipeline.RepositoryAddress(src.URL)) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return nil
	}
	ref := spec.Sources[found[0]].Ref
	if i := w.ofBranch(spec, found); i >= 0 {
		ref = spec.Sources[i].Ref
	}
	return slices.DeleteFunc(found, func(i int) bool { return spec.Sources[i].Ref != ref })
}

// ofBranch returns the last of some sources that reads the branch of the work tree, or -1.
func (w *workTree) ofBranch(spec *pipeline.Spec, sources []int) int {
	head := checkout.Branch(w.top)
	for _, i := range slices.Backward(sources) {
		if spec.Sources[i].Ref.Branch == head && head != "" {
			return i
		}
	}
	return -1
}

// guess says which source a work tree stands in for, if others are of its repository, and none reads its branch.
func (w *workTree) guess(spec *pipeline.Spec, sources []int) string {
	if len(sources) == 0 || w.ofBranch(spec, sources) >= 0 {
		return ""
	}
	of := spec.Sources[sources[0]]
	if !slices.ContainsFunc(spec.Sources, func(src pipeline.Source) bool {
		return src.Ref != of.Ref && pipeline.SameRepository(src.URL, of.URL)
	}) {
		return ""
	}
	return fmt.Sprintf("the files stand in for %s of %s, the first source of this repository: --source NAME=FOLDER "+
		"names another one", of.Ref.RepoRef(), pipeline.RepositoryAddress(of.URL))
}

// onlySource returns the tree that stands in for the only source of the pipelines in a file, or of the one that was
// chosen, if the file is in a work tree: the work tree, or else the folder of the file, whichever has paths of the
// source. A file that is named needs to be in a repository: it can be about any other one. A repository that is the
// source of another pipeline in the file is no other one's.
func (s *session) onlySource(w *workTree, src pipeline.Source) *workTree {
	folder := s.folder()
	isOfOther := slices.ContainsFunc(s.inFile, func(spec pipeline.Spec) bool {
		return len(w.standsFor(&spec)) > 0 || s.Pipeline == "" &&
			slices.ContainsFunc(spec.Sources, func(other pipeline.Source) bool {
				return !pipeline.SameRepository(other.URL, src.URL)
			})
	})
	if isOfOther || !within(w.top, folder) || !w.isRepo && s.File != "" {
		return nil
	}
	if w.isRepo && w.hasAny(src.Paths) {
		return w
	}
	if below := s.below(w, folder); below.hasAny(src.Paths) {
		return below
	}
	return nil
}

// below returns a folder in a work tree as a tree of its own.
func (s *session) below(w *workTree, folder string) *workTree {
	if known := s.folders[folder]; known != nil {
		return known
	}
	out := &workTree{top: folder, isRepo: checkout.Top(folder) == folder}
	for _, p := range w.places {
		switch {
		case within(folder, p.disk):
			in, _ := filepath.Rel(folder, p.disk) // it is within
			p.in = filepath.ToSlash(in)
		case within(p.disk, folder):
			in, _ := filepath.Rel(p.disk, folder)
			p.name, p.disk, p.in = filepath.Join(p.name, in), folder, "."
		default:
			continue
		}
		p.top = folder
		out.places = append(out.places, p)
	}
	s.folders[folder] = out
	return out
}
