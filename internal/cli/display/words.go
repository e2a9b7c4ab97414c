// Package display writes what commands found, for people and as JSON. Foreign text stays on its line, and colour says no
// more than the words.
package display

import (
	"fmt"
	"strings"
)

// Amount is a number with its noun.
func Amount(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(noun, n))
}

func plural(word string, count int) string {
	if count == 1 || strings.HasSuffix(word, "s") {
		return word
	}
	return word + "s"
}

// Total adds counts.
func Total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
