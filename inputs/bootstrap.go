package inputs

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// refuseRepositories gives a problem to each path whose files are read as they are although Kustomizations further
// below apply some of them: everything in these would be defined twice. It is most likely the top of a repository.
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
			r.Folder+"/ is also read as plain manifests, so that it defines again what its Kustomizations "+
				"apply: only these are read").
			WithHint("give the path of flux bootstrap: " + strings.Join(paths, ", or ")))
	}
}

// bootstrapPaths returns the folders that Flux most likely starts with, if there are Kustomizations of folders below a
// folder, and if all are in folders below it too: those that a Kustomization in them applies, or else those with
// Kustomizations that no other one applies.
func bootstrapPaths(folder string, found []Root) []string {
	by := map[string]string{} // the folder of each Kustomization's file, by the folder that it applies
	for _, r := range found {
		if r.RequestedBy != nil && r.Make == nil && r.Folder != folder && isBelow(r.Folder, folder) {
			file, _, _ := r.RequestedBy.Find("")
			by[r.Folder] = path.Dir(file)
		}
	}
	own, first := map[string]bool{}, map[string]bool{}
	for applied, in := range by {
		if in == folder || !isBelow(in, folder) {
			return nil
		}
		if isBelow(in, applied) {
			own[applied] = true
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(by)), func(other string) bool { return isBelow(in, other) }) {
			first[in] = true
		}
	}
	if len(own) > 0 {
		return slices.Sorted(maps.Keys(own))
	}
	return slices.Sorted(maps.Keys(first))
}

// isBelow reports whether a name is a folder, or in it.
func isBelow(name, folder string) bool {
	return folder == "." || name == folder || strings.HasPrefix(name, folder+"/")
}
