package agentyaml

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReferences(t *testing.T) {
	for text, want := range map[string][]Reference{
		"":                   nil,
		"$1 $name $(a b) $$": nil,
		"${1}-${22}":         nil,
		"$${A}":              nil,
		"${A}":               {{Text: "${A}", Name: "A"}},
		"x${A:-1}${B}":       {{Text: "${A}", Name: "A", Optional: true}, {Text: "${B}", Name: "B"}},
		"${#A}${A/x/y}":      {{Text: "${A}", Name: "A"}, {Text: "${A}", Name: "A"}},
		"${A} $(B)":          {{Text: "$(B)", Name: "B", Reloader: true}, {Text: "${A}", Name: "A"}},
	} {
		got, ok := References(text)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%q: %v, -want +got:\n%s", text, ok, diff)
		}
	}
	for _, text := range []string{"${", "${}", "${A", "${A B}", "${-x}", "a${A:-"} {
		if _, ok := References(text); ok {
			t.Errorf("%q counts as finished", text)
		}
	}
}
