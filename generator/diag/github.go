package diag

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// GitHub prints workflow commands, which GitHub Actions shows as annotations beside
// the lines of a pull request.
//
//	::error file=api.yaml,line=12,col=7,title=unknown-field::ServiceMonitor/team-a/api: ...
//
// Many problems of one [Cause] are one annotation, at the first.
type GitHub struct{}

var _ Printer = GitHub{}

// Print implements Printer.
func (GitHub) Print(w io.Writer, list List) error {
	out := bufio.NewWriter(w)
	for _, d := range list.once().Together() {
		out.WriteString("::" + githubCommand(d.Severity) + " " + githubProperties(d) + "::" + githubMessage(d) + "\n")
	}
	return out.Flush()
}

func githubCommand(s Severity) string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "notice"
}

func githubProperties(d Diagnostic) string {
	var p []string
	if d.File != "" && d.File != "-" {
		p = append(p, "file="+escapeProperty(printable(d.File)))
		if d.Line > 0 {
			p = append(p, "line="+strconv.Itoa(d.Line))
		}
		if d.Line > 0 && d.Column > 0 {
			p = append(p, "col="+strconv.Itoa(d.Column))
		}
	}
	return strings.Join(append(p, "title="+escapeProperty(string(d.Code))), ",")
}

func githubMessage(d Diagnostic) string { return escapeData(Plain(d.fullText())) }

// escapeData escapes as escapeData of the runner's toolkit: a line break would end the command, and the text
// after it could be another command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes as escapeProperty of the runner's toolkit.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
