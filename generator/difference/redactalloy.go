package difference

import (
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// alloyEntry matches an attribute, or the first line of a block.
var alloyEntry = lazyregexp.New(`^"?([A-Za-z_][\w.-]*)"?\s*(=?)\s*(.*)$`)

// alloy hides secrets in lines of an Alloy configuration. first is the number of their first line in the file. agentry
// writes one attribute in each line.
func (s *redactor) alloy(lines []string, first int) {
	within, inRaw := []*node{{shape: mapping}}, false
	target := "" // label of the rule
	for i, line := range lines {
		at := min(first+i, len(s.lines)-1)
		s.starts[at] = true
		text, top := strings.TrimSpace(line), within[len(within)-1]
		n, value := &node{name: top.name, parent: top, shape: scalar}, text
		if entry := alloyEntry.FindStringSubmatch(text); entry != nil && !inRaw {
			n.name, value = entry[1], entry[3]
		}
		if n.name == "target_label" {
			target, _ = strconv.Unquote(value)
		}
		isParameter := n.name == "replacement" && credential.InRule(target, value)
		if inRaw || isParameter || s.hasSecret(n, value) {
			s.hide(at, placeholder)
		}
		if strings.Count(line, "`")%2 == 1 {
			inRaw = !inRaw
		}
		if strings.HasPrefix(text, "}") || strings.HasPrefix(text, "]") {
			within = within[:max(len(within)-1, 1)]
		}
		if strings.HasSuffix(text, "{") || strings.HasSuffix(text, "[") {
			within = append(within, &node{name: n.name, parent: top, shape: mapping})
			target = ""
		}
	}
}

// hasSecret reports whether an expression contains a text that is hidden. It does not look at texts that continue in
// the next line.
func (s *redactor) hasSecret(n *node, expression string) bool {
	if s.isSuspect(expression) || strings.Contains(expression, "`") {
		return true
	}
	isLiteral := strings.HasPrefix(expression, `"`) || strings.HasPrefix(expression, "[")
	for rest := expression; ; {
		at := strings.IndexByte(rest, '"')
		if at < 0 {
			return false
		}
		literal, err := strconv.QuotedPrefix(rest[at:])
		if err != nil {
			return true
		}
		text, err := strconv.Unquote(literal)
		if err != nil || isLiteral && s.shown(n, text) != text || isOfExporter(n) && credential.InSource(text) {
			return true
		}
		rest = rest[at+len(literal):]
	}
}

// isOfExporter reports whether a node is in a block that exports metrics of another program, and may have a password
// for it.
func isOfExporter(n *node) bool {
	for ; n != nil; n = n.parent {
		if strings.HasPrefix(n.name, "prometheus.exporter") {
			return true
		}
	}
	return false
}
