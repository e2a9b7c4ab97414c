// Package stagehint says how to write a stage of a PodLogs that is written as a text, or that PodLogs do not have.
// Manifests are checked for it when they are read, and the stages in a text when they are built.
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

// Unknown returns the hint for a stage that PodLogs do not have. names are the stages that they have.
func Unknown(name string, names []string) string {
	switch strings.ReplaceAll(strings.ToLower(name), "_", "") {
	case "staticlabels":
		return "set a label to a fixed text in spec.relabelings: {targetLabel: NAME, replacement: TEXT}"
	case "decolorize", "eventlogmessage", "geoip", "logfmt", "nonindexedlabels", "sampling", "structuredmetadata":
		return "only the jobs in additionalScrapeConfigs of a LogsInstance can have this stage"
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "the stages are " + strings.Join(names, ", ")
}
