package manifest

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// The annotations that agentry reads: why nothing is meant to select an object, and the program of a GrafanaAgent's
// pods.
const (
	IgnoreAnnotation  = ourDomain + "/ignore"
	RuntimeAnnotation = ourDomain + "/runtime"
	ourDomain         = "agentry.dev"
)

// checkAnnotations warns about annotations that look as if they were agentry's and have no effect. A misspelt one would
// mean something else without a word.
func (f *findings) checkAnnotations(w rawObject, annotations map[string]string) {
	if !strings.HasPrefix(w.apiVersion, "monitoring.") && !strings.HasPrefix(w.apiVersion, ourDomain+"/") {
		return
	}
	known := []string{IgnoreAnnotation, RuntimeAnnotation}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		domain, key, _ := strings.Cut(name, "/")
		isNear := diag.DidYouMean(domain, []string{ourDomain}) != "" ||
			strings.Contains(domain, "agentry") && slices.Contains(known, ourDomain+"/"+key)
		if domain != ourDomain && !isNear || slices.Contains(known, name) {
			continue
		}
		hint := "agentry reads only " + strings.Join(known, " and ")
		for _, meant := range known {
			_, word, _ := strings.Cut(meant, "/")
			if key = strings.ToLower(key); key == word || diag.DidYouMean(key, []string{word}) != "" {
				hint = "did you mean " + meant + "?"
			}
		}
		f.warn(diag.InvalidMetadata, "metadata.annotations["+name+"]", "has no effect", hint)
	}
}
