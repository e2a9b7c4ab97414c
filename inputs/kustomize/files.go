package kustomize

import (
	"errors"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// files are what kustomize may read of a [tree.Tree] for one build. Unchecked kustomizations cannot be read.
type files struct {
	tree    *tree.Tree
	checked map[string]*file  // by folder
	changed map[string][]byte // files with content that replaces the tree's
	failed  error             // the first error other than a missing file
}

// open returns what is at a path, and notes an error.
func (f *files) open(name string) kustomizer.Entry {
	e, err := f.at(path.Clean(name))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return e
	}
	if f.failed == nil {
		f.failed = err
	}
	return kustomizer.Entry{Name: name, Refused: true}
}

func (f *files) at(name string) (kustomizer.Entry, error) {
	if text, found := f.changed[name]; found {
		return kustomizer.Entry{Name: name, Text: text}, nil
	}
	real, isDir, err := f.tree.Resolve(name)
	if err != nil || isDir {
		return kustomizer.Entry{Name: real, IsDir: isDir}, err
	}
	if text, found := f.changed[real]; found {
		return kustomizer.Entry{Name: real, Text: text}, nil
	}
	text, err := f.tree.ReadFile(real)
	if err != nil {
		return kustomizer.Entry{}, err
	}
	if isKustomization(name) || isKustomization(real) {
		if k := f.checked[path.Dir(name)]; k == nil || k.name != name {
			return kustomizer.Entry{}, errors.New("a kustomization was not checked")
		}
	}
	return kustomizer.Entry{Name: real, Text: text}, checkAliases(real, text)
}

func isKustomization(name string) bool {
	for _, base := range konfig.RecognizedKustomizationFileNames() {
		if path.Base(name) == base {
			return true
		}
	}
	return false
}
