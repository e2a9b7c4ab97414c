package repo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// maxSuggested limits the number of existing names in an error about a missing ref.
const maxSuggested = 10

// suggest returns a hint with the most similar name, because most wrong names are typos, and the existing refs below
// prefix.
func (r *Refs) suggest(prefix, wanted string) string {
	kind := "refs"
	switch prefix {
	case headsPrefix:
		kind = "branches"
	case tagsPrefix:
		kind = "tags"
	}
	return suggestOf(kind, r.Names(prefix), wanted, strings.TrimPrefix(r.head, prefix))
}

// suggestOf is suggest for names of a kind. head is the default branch, if it can be one of them.
func suggestOf(kind string, names []string, wanted, head string) string {
	if len(names) == 0 {
		return "there are no " + kind
	}
	text, meant := "", ""
	if wanted != "" {
		meant, _ = diag.Suggest(wanted, names)
	}
	if meant == "" && (wanted == "main" || wanted == "master") &&
		slices.Contains(names, head) {
		meant = head // main and master are the usual default branches
	}
	if meant != "" {
		text = fmt.Sprintf("did you mean %s? ", meant)
	}
	shown := names[:min(len(names), maxSuggested)]
	text += fmt.Sprintf("existing %s: %s", kind, strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
