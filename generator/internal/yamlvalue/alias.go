package yamlvalue

import (
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// anchors matches the anchors and aliases in a document that is not valid.
var anchors = lazyregexp.New(`(?:^|[\s\[{,])([&*])([^\s\[\]{},]+)`)

const (
	noAnchor    = "an alias refers to an anchor that is not in this document"
	anchorLater = "comes later"
)

// errAlias returns the error about an alias without an anchor before it. It names the alias only if it resembles an
// anchor in the document: it could be a password that begins with an asterisk.
func errAlias(text, name string) *Error {
	out := &Error{Message: noAnchor, Hint: "quote a value that begins with an asterisk"}
	var names []string
	lines := map[string]int{}
	for _, at := range anchors.FindAllStringSubmatchIndex(text, -1) {
		sign, found := text[at[2]], text[at[4]:at[5]]
		line, column := placeOf(text, at[2])
		switch {
		case sign == '&' && lines[found] == 0:
			names, lines[found] = append(names, found), line
		case sign == '*' && found == name && out.Line == 0:
			out.Line, out.Column = line, column
		}
	}
	if later := lines[name]; later > 0 {
		out.Message, out.Hint, out.Near, out.NearLine = "*"+name+": its anchor &"+name+" "+anchorLater, "", name, later
		return out
	}
	const maxEdits = 2
	if near, ok := diag.Suggest(name, names); ok && diag.Distance(name, near) <= maxEdits {
		out.Message, out.Hint, out.Near, out.NearLine = "*"+name+": no anchor &"+name+" in this document", "", near,
			lines[near]
	}
	return out
}

// placeOf returns the line and column of an offset, from 1.
func placeOf(text string, offset int) (line, column int) {
	before := text[:offset]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
