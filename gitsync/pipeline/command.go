package pipeline

import "strings"

// RenderCommand returns the command that renders the manifests in a checkout of a source.
func (p *Pipeline) RenderCommand() string {
	return "agentry render -f PIPELINE --pipeline " + quote(p.Metadata.Name) + " -o OUT"
}

// quote makes a shell word of a text.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~=%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
