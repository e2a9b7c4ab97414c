package history

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
)

// Differs says how the payload of a branch differs from the verdict; "" if it does not. isTheirs reports whether a file
// is of somebody else.
func (v *Verdict) Differs(before, after map[string]string, isTheirs func(name string) bool) string {
	var units []string
	for _, name := range slices.Sorted(maps.Keys(v.Units)) {
		u := v.Units[name]
		if !u.Gone {
			units = append(units, name)
		}
		want, got := below(before, name), below(after, name)
		delete(want, ReadmeFile) // it says why the unit stays
		delete(got, ReadmeFile)
		if u.Files != nil || u.Gone {
			want = u.Files
			maps.DeleteFunc(got, func(file, _ string) bool { return isBeside(file) || isTheirs(path.Join(name, file)) })
		}
		if !maps.Equal(want, got) {
			return fmt.Sprintf("unit %s should be %s; -want +got:\n%s", name, u, cmp.Diff(want, got))
		}
	}
	root, there := after[generator.KustomizationFile]
	if want := string(generator.Kustomization(units)); root != want && (there || len(units) > 0) {
		return "the list of units; -want +got:\n" + cmp.Diff(want, root)
	}
	return ""
}

// isBeside reports whether a file in the folder of a unit is not rendered.
func isBeside(file string) bool {
	return file == InventoryFile || file == MetadataFile || file == ReadmeFile
}

// below returns the files of a folder, by their paths in it.
func below(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
			out[rest] = text
		}
	}
	return out
}

// IsGood reports whether nothing is wrong with the inputs.
func (v *Verdict) IsGood() bool {
	good := len(v.unread) == 0 && len(v.seen.unread)+len(v.seen.missing) == 0
	for _, u := range v.Units {
		good = good && !u.keep && len(u.held) == 0
	}
	return good
}

// String is what the model says of a unit.
func (u *Unit) String() string {
	words := "rendered"
	switch {
	case u.Gone:
		words = "absent"
	case u.paused:
		words = "left alone, as it is paused"
	case u.keep:
		words = fmt.Sprintf("kept for errors of %v", slices.Collect(maps.Keys(u.blamed)))
	}
	for id, d := range u.replace {
		words += fmt.Sprintf(", %s as %s", id, d)
	}
	for id := range u.held {
		if _, stands := u.replace[id]; !stands {
			words += fmt.Sprintf(", without %s", id)
		}
	}
	return words
}
