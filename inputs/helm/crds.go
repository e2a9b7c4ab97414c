package helm

import (
	"slices"
	"strings"
)

// HasCRDs reports whether a chart, or one of its dependencies, has a folder crds. Helm installs what is in it, but no
// document comes of it.
func HasCRDs(chart []File) bool {
	return slices.ContainsFunc(chart, func(f File) bool {
		return strings.HasPrefix(f.Name, "crds/") || strings.Contains(f.Name, "/crds/")
	})
}
