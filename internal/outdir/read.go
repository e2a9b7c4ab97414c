package outdir

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/gitsync/branch"
)

// Units reads rendered output in the layout of [Write] and of the output branch: a folder for each unit, with a file
// for each object.
func Units(folder fs.FS) ([]*generator.Unit, error) {
	byName := map[string]*generator.Unit{}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(path.Base(name), ".") && name != ".":
			return fs.SkipDir
		case !d.Type().IsRegular() || path.Ext(name) != ".yaml" || path.Base(name) == generator.KustomizationFile:
			return nil
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		m, ok := difference.Read(path.Dir(name), text)
		if !ok {
			return fmt.Errorf("%s: not a Kubernetes object", name)
		}
		if byName[m.Unit] == nil {
			byName[m.Unit] = &generator.Unit{Name: m.Unit}
		}
		u := byName[m.Unit]
		u.Files = append(u.Files, generator.File{Path: path.Base(name), Data: text, Object: m.ID, Manifest: true,
			Masked: maskedIn(folder, name)})
		return nil
	})
	var units []*generator.Unit
	for _, u := range byName {
		units = append(units, u)
	}
	slices.SortFunc(units, func(a, b *generator.Unit) int { return cmp.Compare(a.Name, b.Name) })
	return units, err
}

// maskedIn returns the digest of a file's configuration without secrets from the inventory beside it, or "".
func maskedIn(folder fs.FS, name string) string {
	text, err := fs.ReadFile(folder, path.Join(path.Dir(name), branch.InventoryFile))
	var inv branch.UnitInventory
	if err != nil || json.Unmarshal(text, &inv) != nil {
		return ""
	}
	f, _ := inv.File(path.Base(name))
	return f.Masked
}
