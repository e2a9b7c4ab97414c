// Package stagehint returns hints about a stage of a PodLogs that is written as a text, or whose kind PodLogs do not
// have. Package manifest uses it when objects are read, package compile for stages within a text.
package stagehint

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Of returns the hint for a stage that is written as a text, most likely one of the names.
func Of(text string, names []string) string {
	name, _, _ := strings.Cut(text, ":") // cri:{} without a space is a text too
	name, found := diag.Suggest(strings.TrimSpace(name), names)
	switch {
	case !found:
		return `a stage is a name with its settings, such as "cri: {}"`
	case name == "cri", name == "docker":
		return fmt.Sprintf("write %q", name+": {}")
	}
	return fmt.Sprintf("write %q, with its settings below it", name+":")
}

// Unknown returns the hint for a kind of stage that PodLogs do not have. names are the kinds that they have.
func Unknown(name string, names []string) string {
	switch strings.ReplaceAll(strings.ToLower(name), "_", "") {
	case "staticlabels":
		return "set a constant label in spec.relabelings: {targetLabel: NAME, replacement: TEXT}"
	case "decolorize", "eventlogmessage", "geoip", "logfmt", "nonindexedlabels", "sampling", "structuredmetadata":
		return "only the jobs in additionalScrapeConfigs of a LogsInstance can have this stage"
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "the stages are " + strings.Join(names, ", ")
}
