package initialize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/scaffold"
)

// overlay writes a folder with a GrafanaAgent that selects everything, and says how to read monitors with it. folder is
// its name as it was typed.
func (i initializer) overlay(at place, folder string) error {
	files := scaffold.Overlay(at.folder)
	if err := requireNoOthers(at, files); err != nil {
		return err
	}
	if _, err := write(at.top, scaffold.Options{}, files); err != nil {
		return err
	}
	_, err := fmt.Fprintf(i.Stdout, `wrote a GrafanaAgent that selects everything to %[1]s: it is to try agentry with

  agentry check PATH %[1]s
  agentry tree PATH %[1]s
`, folder)
	return err
}

// requireNoOthers refuses a folder with other manifests than the files: the kustomization would hide them.
func requireNoOthers(at place, files []scaffold.File) error {
	entries, err := os.ReadDir(filepath.Join(at.top, filepath.FromSlash(at.folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		isOurs := slices.ContainsFunc(files, func(f scaffold.File) bool { return filepath.Base(f.Path) == e.Name() })
		if isOurs || strings.HasPrefix(e.Name(), ".") || !e.IsDir() && !manifest.IsManifestPath(e.Name()) {
			continue
		}
		return command.Usagef("name a new FOLDER, and give commands both",
			"nothing is written, because the kustomization.yaml would hide what the folder holds: %s", e.Name())
	}
	return nil
}
