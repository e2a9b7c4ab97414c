package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabels(t *testing.T) {
	all := map[string]string{"b": "1", "a": "2", "c": ""}
	l := LabelsOf(all)
	if diff := cmp.Diff(Labels{{"a", "2"}, {"b", "1"}, {"c", ""}}, l); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all, l.Map()); diff != "" {
		t.Error(diff)
	}
	if !l.Has("c") || l.Has("d") || l.Get("b") != "1" || l.Get("d") != "" {
		t.Errorf("got %v", l)
	}
	for name, want := range map[string]Labels{
		"A": {{"A", "x"}, {"a", "2"}, {"b", "1"}, {"c", ""}},
		"b": {{"a", "2"}, {"b", "x"}, {"c", ""}},
		"d": {{"a", "2"}, {"b", "1"}, {"c", ""}, {"d", "x"}},
	} {
		if diff := cmp.Diff(want, l.With(name, "x")); diff != "" {
			t.Errorf("with %s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(Labels{{"a", "x"}}, Labels(nil).With("a", "x")); diff != "" || l.Get("b") != "1" {
		t.Error(diff)
	}
}
