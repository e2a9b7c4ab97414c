package pipelinefile

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Below returns the pipelines of all pipeline files in a folder and below it, such as a checkout. A file that is not
// valid or cannot be read is left out: agentry check reports it.
func Below(files fs.FS) (fleet []*Pipeline, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // see above
		case name != "." && d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > MaxFileBytes {
			return nil //nolint:nilerr // see above
		}
		text, err := fs.ReadFile(files, name)
		if err != nil || !bytes.Contains(text, []byte(pipeline.APIVersion)) {
			return nil //nolint:nilerr // see above
		}
		if found, wrong := Parse(name, text); !wrong.HasErrors() {
			fleet = append(fleet, found...)
		}
		return nil
	})
	return fleet, err
}
