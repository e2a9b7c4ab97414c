package pipelinefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// MaxFiles limits the files of a folder of pipelines.
const MaxFiles = 10_000

// Load reads a pipeline file, or all files of a folder: see [Files]. If there is an error, it returns no
// pipelines. A pipeline of a single file may wait for pipelines of other files; in a folder, all must be there.
func Load(path string) ([]*Pipeline, diag.List) {
	names, folder, err := Files(path)
	if err != nil {
		return nil, diag.List{invalid(path, nil, err.Error())}
	}
	apps := newApps()
	var fleet []*Pipeline
	var found diag.List
	for _, name := range names {
		made, problems := readPipelines(name, apps)
		fleet, found = append(fleet, made...), append(found, problems...)
	}
	if !found.HasErrors() && folder {
		found = append(found, fleetDiags(fleet, true)...)
	}
	found.Sort()
	if found.HasErrors() {
		return nil, found
	}
	return fleet, found
}

func readPipelines(name string, apps *apps) ([]*Pipeline, diag.List) {
	data, err := readFile(name, MaxFileBytes)
	if err != nil {
		return nil, diag.List{invalid(name, nil, plain(err))}
	}
	return parseFile(name, data, apps)
}

// Files returns the sorted pipeline files of a path: the file itself, or the files of a folder that end in
// .yaml, .yml or .json. It does not read subfolders, or names that start with a dot: a mounted ConfigMap has
// its data below such names, and the other names are links to it. It returns an error if there are no files.
func Files(path string) (names []string, folder bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, fmt.Errorf("cannot be read: %s", plain(err))
	}
	if !info.IsDir() {
		return []string{path}, false, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, true, fmt.Errorf("cannot be read: %s", plain(err))
	}
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if isPipelineName(e.Name()) && mayBeFile(name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, true, errors.New("the folder holds no file that ends in .yaml, .yml or .json")
	case len(names) > MaxFiles:
		return nil, true, fmt.Errorf("the folder holds more than %d files", MaxFiles)
	}
	slices.Sort(names)
	return names, true, nil
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
