package display

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/source"
)

// UnsetCharts says which charts nothing renders, or only with their default values. It begins with a space, unless it
// is empty.
func UnsetCharts(charts []source.Unset) string {
	var skipped, byDefault []string
	for _, of := range charts {
		if of.Rendered {
			byDefault = append(byDefault, of.Folder)
		} else {
			skipped = append(skipped, of.Folder)
		}
	}
	s := ""
	if n := len(skipped); n > 0 {
		s = fmt.Sprintf(" (%s not rendered: %s)", Amount(n, "Helm chart"), some(skipped))
	}
	if n := len(byDefault); n > 0 {
		s += fmt.Sprintf(" (%s with default values: %s; an Application sets others)", Amount(n, "Helm chart"),
			some(byDefault))
	}
	return s
}

// some lists the first names.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
