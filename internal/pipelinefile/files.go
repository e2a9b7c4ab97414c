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

// MaxFiles bounds how many files a folder of pipelines may hold.
const MaxFiles = 10_000

// Load reads a pipeline file, or all of a folder: see [Files]. Where it finds an error it
// returns no pipelines. Those that a pipeline waits for may be in other files, unless it is a
// folder that was read.
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

// Files lists the pipeline files that a path stands for, sorted: the file itself, or those in
// a folder that end in .yaml, .yml or .json. Folders in it are not entered, and names that
// start with a dot are left out: in a mounted ConfigMap they hold what the other names lead
// to. It is an error if there are none.
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

// mayBeFile reports whether a name leads to a file, and not to a folder or to a pipe, which
// could be waited for without end. What cannot be looked at is a file that cannot be read.
func mayBeFile(name string) bool {
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// plain is an error of the file system without the name of the file, which stands before it.
func plain(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}
