package relabel

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
)

// TestLintOfLargeExpressions holds that Lint compiles no large expression: it is an error elsewhere.
func TestLintOfLargeExpressions(t *testing.T) {
	large := strings.Repeat("a{1000}", 300)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, r := range []*model.Relabel{
		{Action: "labeldrop", Regex: model.Present(large)},
		{Action: "labelkeep", Regex: model.Present(large)},
		{Action: "keep", Regex: model.Present(large)},
		{Action: "drop", Regex: model.Present(large), SourceLabels: []string{"__name__"}},
	} {
		if found := Targets().Lint(nil, r); len(found) > 0 {
			t.Errorf("%s: %v", r.Action, found)
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 20 {
		t.Errorf("allocates %d MiB", used)
	}
}

// TestManyLargeExpressions holds that expressions are an error if they are too large together, because agents keep all
// of them compiled.
func TestManyLargeExpressions(t *testing.T) {
	var c Checker
	check := func(text string) error { return c.Compile(text) }
	for i := range 2000 { // realistic expressions are never too large
		for _, text := range []string{fmt.Sprintf("container_%d|[a-z0-9]{1,5}|up", i),
			strings.Repeat("node_", 100) + fmt.Sprint(i)} {
			if err := check(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused := 0
	for i := range 200 {
		text := strings.Repeat("a{1000}", 9) + fmt.Sprint(i)
		for range 2 { // the second time counts nothing
			if check(text) != nil {
				refused++
			}
		}
	}
	if refused < 200 || refused == 400 {
		t.Errorf("%d of 400 large expressions are refused", refused)
	}
}
