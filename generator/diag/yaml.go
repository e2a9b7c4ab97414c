package diag

import "strings"

// YAMLHint returns what to do about a message of the YAML parser that people do not understand, or nothing.
func YAMLHint(message string) string {
	if strings.Contains(message, "found character that cannot start any token") {
		return "indent with spaces, not tabs, and quote values that begin with @ or `"
	}
	return ""
}
