package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs"
)

// refersTo reports whether SourceRefs name a source.
func (s *Spec) refersTo(name string) bool {
	for _, of := range s.SourceRefs {
		if of == name && name != "" {
			return true
		}
	}
	return false
}

// Mounts returns the other sources that custom resources and kustomizations of source i can build from: their indices
// by name.
func (s *Spec) Mounts(i int) map[string]int {
	out := map[string]int{}
	if s.Sources[i].Build == inputs.Plain {
		return out
	}
	for n, of := range s.Sources {
		if n != i && (s.refersTo(of.Name) || s.Build.SharesPaths && of.Name != "") {
			out[of.Name] = n
		}
	}
	return out
}

// validateSourceRefs checks the names of sources, and what refers to them.
func validateSourceRefs(s *Spec) findings {
	var f findings
	names := map[string]bool{}
	follows, builds := false, false
	for i, of := range s.Sources {
		at := fmt.Sprintf("spec.sources[%d].name", i)
		follows = follows || of.Build == inputs.Flux || of.Build == inputs.ArgoCD
		if builds = builds || of.Build != inputs.Plain; of.Name == "" {
			continue
		}
		f.name(at, of.Name, diag.LabelName)
		f.check(!names[of.Name], at, "", "is the name of another source too")
		names[of.Name] = true
	}
	hasEffect := len(s.SourceRefs) == 0 || follows
	for _, ref := range slices.Sorted(maps.Keys(s.SourceRefs)) {
		at, name := "spec.sourceRefs["+ref+"]", s.SourceRefs[ref]
		f.check(names[name], at, "give the source this name in sources[].name", "no source has the name %q", name)
		kind, _, _ := strings.Cut(ref, "/")
		isKind := slices.Contains([]string{"GitRepository", "OCIRepository", "Bucket",
			"ExternalArtifact"}, kind) &&
			strings.Count(ref, "/") == 2
		hasEffect = hasEffect || builds && !isKind
		f.check(isKind || strings.Contains(ref, "://") || strings.Contains(ref, ":"), at,
			"write it as GitRepository/NAMESPACE/NAME (also OCIRepository, Bucket and ExternalArtifact), or as a URL",
			"names no source of Flux, and no repository")
	}
	f.check(hasEffect, "spec.sourceRefs", "set build: flux or build: argocd in a source",
		"has no effect, because no source follows custom resources")
	return f
}
