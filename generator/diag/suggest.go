package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// minPartBytes is the shortest word that is accepted as part of a longer name.
const minPartBytes = 4

// Suggest returns the candidate that word is most likely a misspelling of, otherwise the one that it is most
// likely a part of, otherwise the longest one that is a part of it. It returns false if there is none. Of equally
// likely candidates it returns the first.
func Suggest(word string, candidates []string) (string, bool) {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if max(len(word)-len(c), len(c)-len(word)) >= bestDistance {
			continue // the lengths differ by too many letters
		}
		if d := Distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		best = cmp.Or(whole(word, candidates), part(word, candidates))
	}
	return best, best != ""
}

// part returns the longest candidate that the word has as a word: endpoints for podMetricsEndpoints.
func part(word string, candidates []string) (longest string) {
	for _, c := range candidates {
		if len(c) >= minPartBytes && len(c) > len(longest) && hasWord(word, strings.ToLower(c)) {
			longest = c
		}
	}
	return longest
}

// whole returns the candidate that begins with the part, otherwise the one that has it as a word: elasticsearch
// for elastic, podMonitorSelector for monitor. Of several candidates it returns the one that all others begin
// with, or nothing.
func whole(part string, candidates []string) string {
	if len(part) < minPartBytes {
		return ""
	}
	part = strings.ToLower(part)
	var beginning, within []string
	for _, c := range candidates {
		switch {
		case strings.HasPrefix(strings.ToLower(c), part):
			beginning = append(beginning, c)
		case hasWord(c, part):
			within = append(within, c)
		}
	}
	if len(beginning) > 0 {
		return stem(beginning)
	}
	return stem(within)
}

// stem returns the name that all others begin with, or nothing.
func stem(names []string) string {
	if len(names) == 0 {
		return ""
	}
	shortest := slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
	if slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, shortest) }) {
		return ""
	}
	return shortest
}

// hasWord reports whether a name contains a lower-case word, separated by other characters than letters and
// digits or by camel case.
func hasWord(name, word string) bool {
	low := strings.ToLower(name)
	if len(low) != len(name) {
		return false // not ASCII
	}
	for from := 0; ; from++ {
		i := strings.Index(low[from:], word)
		if i < 0 {
			return false
		}
		from += i
		if isBoundary(name, from) && isBoundary(name, from+len(word)) {
			return true
		}
	}
}

// isBoundary reports whether a word of a name can begin or end at an offset.
func isBoundary(name string, at int) bool {
	if at == 0 || at == len(name) {
		return true
	}
	before, after := name[at-1], name[at]
	return !isAlphanumeric(before) || !isAlphanumeric(after) || isUpper(after) && !isUpper(before)
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isAlphanumeric(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9'
}

// DidYouMean returns a hint with the likely candidate, or nothing.
func DidYouMean(word string, candidates []string) string {
	if s, ok := Suggest(word, candidates); ok {
		return "did you mean " + s + "?"
	}
	return ""
}

// Unknown returns the message about a word that a flag or field does not take, such as `unknown --format "xml"`, and
// as the hint the likely word or, if none is likely, all known words.
func Unknown(what, word string, known []string) (message, hint string) {
	hint = DidYouMean(word, known)
	if hint == "" {
		hint = "use " + Alternatives(known)
	}
	return fmt.Sprintf("unknown %s %q", what, word), hint
}

// Alternatives lists words, as in "a, b or c". There must be at least one.
func Alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// WriteList is the hint for a value that must be a list.
const WriteList = `begin each item of the list with "- "`

// maxFields is the largest number of fields that a hint lists.
const maxFields = 8

// Fields returns a hint with the fields of a mapping that has few: where one is not known, or something else stands in
// its place. It is empty for a whole object.
func Fields(names []string) string {
	switch {
	case len(names) == 0 || len(names) > maxFields || slices.Contains(names, "apiVersion"):
		return ""
	case slices.Equal(names, []string{"matchExpressions", "matchLabels"}):
		return "write labels below matchLabels"
	case len(names) == 1:
		return "the only field is " + names[0]
	}
	return "the fields are " + strings.Join(names, ", ")
}

// Distance returns how many letters must be inserted, deleted, changed or swapped with a neighbour (the optimal
// string alignment distance). It ignores case.
func Distance(a, b string) int {
	var before, previous []int
	current := make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, previous, current = previous, current, make([]int, len(b)+1)
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if lower(a[i-1]) == lower(b[j-1]) {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && lower(a[i-1]) == lower(b[j-2]) && lower(a[i-2]) == lower(b[j-1]) {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
	}
	return current[len(b)]
}

func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}
