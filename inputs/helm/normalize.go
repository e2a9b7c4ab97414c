package helm

import (
	"regexp"
	"strings"
)

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// Normalize turns a text into a valid Kubernetes name, as Argo CD does.
func Normalize(text string) string {
	const longest = 253
	text = notInNames.ReplaceAllString(strings.ToLower(text), "-")
	return strings.Trim(text[:min(len(text), longest)], "-.")
}
