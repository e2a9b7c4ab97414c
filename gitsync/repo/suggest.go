package repo

import (
	"fmt"
	"slices"
	"strings"
)

// maxSuggested is how many existing names an error about a missing ref lists.
const maxSuggested = 10

// suggest names the refs below prefix that exist. The one that was probably meant comes first: most
// wrong names are typing errors.
func (r *Refs) suggest(prefix, wanted string) string {
	kind := "refs"
	switch prefix {
	case headsPrefix:
		kind = "branches"
	case tagsPrefix:
		kind = "tags"
	}
	names := r.Names(prefix)
	if len(names) == 0 {
		return "there are no " + kind
	}
	text := ""
	if meant := closest(names, wanted, strings.TrimPrefix(r.head, prefix)); meant != "" {
		text = fmt.Sprintf("did you mean %s? ", meant)
	}
	shown := names[:min(len(names), maxSuggested)]
	text += fmt.Sprintf("there are the %s %s", kind, strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// closest finds the name that is at most half its length of edits away, else,
// for the conventional default branches only, what the remote's HEAD is.
func closest(names []string, wanted, head string) string {
	best, bestDistance := "", len(wanted)/2+1
	for _, name := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(wanted)); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if best == "" && (wanted == "main" || wanted == "master") && slices.Contains(names, head) {
		return head
	}
	return best
}

// editDistance counts the bytes to insert, remove or replace to get from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
