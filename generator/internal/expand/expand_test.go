package expand

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

func TestTouches(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "$": false, "$1": false, "$FOO": false, "a$": false, "$()": false, "$(a b)": false, "$(a": false,
		"$$": true, "${1}": true, "${": true, "x$(A_1)y": true, "$1${": true, "$($(A)": true,
	} {
		if got := Touches(s); got != want {
			t.Errorf("Touches(%q) = %v", s, got)
		}
	}
}

func TestVaries(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "30s": false, "$$": false, "$1": false, "${1}": false, "$${X}": false,
		"${X}s": true, "$(X)": true, "${X:-1s}": true, "${X": true,
	} {
		if Varies(s) != want {
			t.Errorf("%q: %t", s, !want)
		}
	}
}
