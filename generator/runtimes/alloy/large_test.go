package alloy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

// TestLargeExpressionsAreNotKept: two thousand of them, in 500 KB of Git, took all memory of a service.
func TestLargeExpressionsAreNotKept(t *testing.T) {
	c := regexes{}
	for i := range 5 {
		r := &model.Relabel{Action: "labeldrop",
			Regex: model.Present(strings.Repeat("a{1000}", 8) + "|" + fmt.Sprint("b", i))}
		if !c.matches(r, fmt.Sprint("b", i)) || c.matches(r, "c") {
			t.Errorf("%d: wrong", i)
		}
	}
	if len(c) > 0 {
		t.Errorf("%d are kept", len(c))
	}
	if r := (&model.Relabel{Action: "labeldrop", Regex: model.Present("up|a{1,5}")}); !c.matches(r, "aa") ||
		len(c) != 1 {
		t.Error("a small one is not kept")
	}
}
