package inputs

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// refuseRepositories reports each path without a kustomization that has Kustomizations applying folders below it:
// reading its files as plain manifests would define those folders twice. Such a path is most likely the top of a
// repository.
func (s *search) refuseRepositories(found []Root) {
	for i, r := range found {
		if r.RequestedBy != nil || !s.plain[r.Folder] {
			continue
		}
		paths := bootstrapPaths(r.Folder, found)
		if len(paths) == 0 {
			continue
		}
		found[i].Problem = new(diag.BuildFailed.At("", "%s",
			r.Folder+"/ is also read as plain manifests, so it defines again what its Kustomizations "+
				"apply: only these are read").
			WithHint("give the path of flux bootstrap: " + strings.Join(paths, ", or ")).
			Naming(append(paths, r.Folder+"/")...))
	}
}

// bootstrapPaths guesses the folders below a folder that Flux was bootstrapped with: those that apply themselves, else
// those with Kustomizations that no other Kustomization applies. It returns none unless all Kustomizations are in
// folders below.
func bootstrapPaths(folder string, found []Root) []string {
	var applied, of []string // the folders that Kustomizations apply, and those of their files
	for _, r := range found {
		if r.RequestedBy != nil && r.Make == nil && r.Folder != folder && isBelow(r.Folder, folder) {
			file, _, _ := r.RequestedBy.Find("")
			applied, of = append(applied, r.Folder), append(of, path.Dir(file))
		}
	}
	own, first := map[string]bool{}, map[string]bool{}
	for i, in := range of {
		if in == folder || !isBelow(in, folder) {
			return nil
		}
		if isBelow(in, applied[i]) {
			own[applied[i]] = true
		}
		if !slices.ContainsFunc(applied, func(other string) bool { return isBelow(in, other) }) {
			first[in] = true
		}
	}
	if len(own) > 0 {
		return slices.Sorted(maps.Keys(own))
	}
	return slices.Sorted(maps.Keys(first))
}

// isBelow reports whether name is the folder or lies below it.
func isBelow(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}
