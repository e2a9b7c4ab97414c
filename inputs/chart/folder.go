package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"helm.sh/helm/v4/pkg/ignore"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// FileName is the file that makes a folder a chart.
const FileName = "Chart.yaml"

// readFolder reads a chart in a folder of a repository, without the files that its .helmignore excludes.
func readFolder(t *tree.Tree, folder string) ([]helm.File, error) {
	if _, isDir, err := t.Resolve(path.Join(folder, FileName)); err != nil || isDir {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the folder %s holds no chart%s", folder, hiddenBy(t, folder))
		}
		return nil, err
	}
	rules, err := readRules(t, folder)
	if err != nil {
		return nil, err
	}
	r := &folderReader{tree: t, top: folder, rules: rules}
	err = r.read("", 0)
	return r.files, err
}

// hiddenBy says which .sourceignore hides the Chart.yaml of a folder, if one does.
func hiddenBy(t *tree.Tree, folder string) string {
	if by := t.Hidden()[path.Join(folder, FileName)]; by != "" {
		return ": " + t.InRepository(by) + " hides its " + FileName
	}
	return ""
}

func readRules(t *tree.Tree, folder string) (*ignore.Rules, error) {
	rules := ignore.Empty()
	text, err := t.ReadFile(path.Join(folder, ignore.HelmIgnore))
	if err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: it has an invalid pattern", path.Join(folder, ignore.HelmIgnore))
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rules.AddDefaults()
	return rules, nil
}

type folderReader struct {
	tree  *tree.Tree
	top   string
	rules *ignore.Rules
	files []helm.File
}

// read reads a folder of the chart. The depth is limited because links can make folders nest endlessly.
func (r *folderReader) read(below string, depth int) error {
	const maxDepth = 32
	if depth > maxDepth {
		return fmt.Errorf("the folders of the chart %s nest deeper than %d", r.top, maxDepth)
	}
	entries, err := r.tree.List(path.Join(r.top, below))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(below, e.Name)
		_, isDir, err := r.tree.Resolve(path.Join(r.top, name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // a link to nothing, or a submodule
			continue
		case err != nil:
			return err
		case r.rules.Ignore(name, info{e.Name, isDir}):
			continue
		case isDir:
			if err := r.read(name, depth+1); err != nil {
				return err
			}
			continue
		case len(r.files) >= MaxFiles:
			return fmt.Errorf("the chart %s has more than %d files", r.top, MaxFiles)
		}
		text, err := r.tree.ReadFile(path.Join(r.top, name))
		if err != nil {
			return err
		}
		r.files = append(r.files, helm.File{Name: name, Data: bytes.TrimPrefix(text, []byte("\ufeff"))})
	}
	return nil
}

// info is the [fs.FileInfo] that .helmignore rules need.
type info struct {
	name  string
	isDir bool
}

var _ fs.FileInfo = info{}

func (i info) Name() string     { return i.name }
func (info) Size() int64        { return 0 }
func (info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool      { return i.isDir }
func (info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.isDir {
		return fs.ModeDir
	}
	return 0
}
