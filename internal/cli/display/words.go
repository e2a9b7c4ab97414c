// Package display writes the results of commands, for people and as JSON. Foreign text cannot start a new line,
// and colours add no information.
package display

import (
	"fmt"
	"strings"
)

// Amount returns a number with its noun.
func Amount(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, plural(noun, n))
}

func plural(word string, count int) string {
	if count == 1 || strings.HasSuffix(word, "s") {
		return word
	}
	return word + "s"
}

// Total returns the sum of the counts.
func Total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
