// Package stagehint says how to write a stage of a PodLogs that is written as a text. Manifests are checked for it when
// they are read, and the stages in a text when they are built.
package stagehint

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Of returns the hint for a stage that is written as a text, which is most likely one of the names.
func Of(text string, names []string) string {
	name, _, _ := strings.Cut(text, ":") // cri:{} without a space is a text, too
	name, found := diag.Suggest(strings.TrimSpace(name), names)
	switch {
	case !found:
		return `a stage is a name with its settings, such as "cri: {}"`
	case name == "cri", name == "docker":
		return fmt.Sprintf("write %q", name+": {}")
	}
	return fmt.Sprintf("write %q, with its settings below it", name+":")
}
