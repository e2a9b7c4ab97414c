package cli

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// readFiles reads the manifests below the paths. It stands in for internal/folder, which
// is being written: bounds, symbolic links and kustomizations are its business.
func readFiles(ctx context.Context, paths []string, stdin io.Reader) ([]manifest.File, error) {
	var files []manifest.File
	for _, name := range paths {
		if name == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, err
			}
			files = append(files, manifest.File{Path: "-", Data: data})
			continue
		}
		err := filepath.WalkDir(name, func(file string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || ctx.Err() != nil:
				return err
			case e.IsDir() && file != name && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case !e.Type().IsRegular() || file != name && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)):
				return nil
			}
			data, err := os.ReadFile(file)
			files = append(files, manifest.File{Path: filepath.ToSlash(file), Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
