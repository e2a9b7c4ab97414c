package pipelinefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFiles limits the files of a folder of pipelines.
const MaxFiles = 10_000

// Files returns the sorted pipeline files of a path: the file itself, or the files of a folder that end in
// .yaml, .yml or .json. It does not read subfolders, or names that start with a dot: a mounted ConfigMap has
// its data below such names, and the other names are links to it. It returns an error if there are no files.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", plain(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %s", plain(err))
	}
	var names []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if isPipelineName(e.Name()) && (e.Type().IsRegular() || mayBeFile(name)) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, errors.New("the folder holds no file that ends in .yaml, .yml or .json")
	case len(names) > MaxFiles:
		return nil, fmt.Errorf("the folder holds more than %d files", MaxFiles)
	}
	slices.Sort(names)
	return names, nil
}

func isPipelineName(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// mayBeFile reports whether a name is not a folder or a pipe, which could block forever. It returns true on
// errors: reading the file reports them.
func mayBeFile(name string) bool {
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// plain returns a file system error without the name of the file, which the message has already.
func plain(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}
