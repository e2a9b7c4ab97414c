package argocd

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// fileSource is a repository or a fetched chart with value files.
type fileSource struct {
	key  string // identifies the source
	top  string // the folder that names are relative to
	list func(dir string) ([]string, error)
	read func(name string) ([]byte, error)
}

func inRepository(key string, t repository, top string) fileSource {
	return fileSource{key, top, func(dir string) ([]string, error) { return filesBelow(t, dir, 0) }, t.ReadFile}
}

func inChart(files []helm.File) fileSource {
	list := func(dir string) ([]string, error) {
		var out []string
		for _, f := range files {
			if dir == "." || strings.HasPrefix(f.Name, dir+"/") {
				out = append(out, f.Name)
			}
		}
		slices.Sort(out)
		return out, nil
	}
	read := func(name string) ([]byte, error) {
		for _, f := range files {
			if f.Name == name {
				return bytes.Clone(f.Data), nil
			}
		}
		return nil, fs.ErrNotExist
	}
	return fileSource{top: ".", list: list, read: read}
}

// file is a file of a source.
type file struct {
	source fileSource
	name   string
}

func (f file) key() string { return f.source.key + ":" + f.name }

// find returns the file with a name or, if the name is a pattern, the files that match it.
func (r *release) find(field, name string) (files []file, isPattern bool, err error) {
	if strings.Contains(name, "://") {
		return nil, false, refused(field, "copy it into the repository", "remote files are not read")
	}
	at := r.own
	first, rest, _ := strings.Cut(name, "/")
	if ref, found := r.refs[first]; found {
		at, name = inRepository(first, ref, "."), "/"+rest
	} else if strings.HasPrefix(first, "$") && !strings.HasPrefix(first, "$ARGOCD_") &&
		!strings.HasPrefix(first, "${ARGOCD_") {
		return nil, false, problem(field, "set it as the ref of another source", "no source has the ref %s",
			first[1:])
	}
	if name, err = r.env.expand(field, name); err != nil {
		return nil, false, err
	}
	if !path.IsAbs(name) {
		name = path.Join(at.top, name)
	}
	name = strings.TrimPrefix(path.Clean(name), "/")
	i := strings.IndexAny(name, `*?[`)
	if i < 0 {
		return []file{{at, name}}, false, nil
	}
	expression := pattern{}.compile(name)
	if expression == nil {
		return nil, true, problem(field, "", "the pattern is invalid")
	}
	all, err := at.list(path.Dir(name[:i] + "x"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, true, readProblem(field, err)
	}
	for _, name := range all {
		if expression.MatchString(name) {
			files = append(files, file{at, name})
		}
	}
	return files, true, nil
}
