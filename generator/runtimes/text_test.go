package runtimes

import (
	"strings"
	"testing"
)

// TestPlaces holds that a part is where its lines are in the file, with their indentation.
func TestPlaces(t *testing.T) {
	const first, second = "- job: a\n\n  b: c\n", "- job: d\n"
	text := Text{Bytes: []byte("jobs:\n" + first + second),
		Spans: []Span{{Name: "a", Start: 6, End: 6 + len(first)},
			{Name: "d", Start: 6 + len(first), End: 6 + len(first) + len(second)}}}
	file := "head:\n  key: |\n" + "    jobs:\n    - job: a\n\n      b: c\n    - job: d\n"
	places := text.Places(3, 4)
	for i, want := range []string{"    - job: a\n\n      b: c\n", "    - job: d\n"} {
		rest := strings.Join(strings.SplitAfter(file, "\n")[places[i].Line-1:], "")
		if got := rest[:places[i].Bytes]; got != want || places[i].Name != text.Spans[i].Name {
			t.Errorf("%s is %q, want %q", places[i].Name, got, want)
		}
	}
}
