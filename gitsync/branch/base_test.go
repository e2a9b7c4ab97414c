package branch

import (
	"strings"
	"testing"
)

// TestBase: two sources of one branch can be at different commits, and each has its own.
func TestBase(t *testing.T) {
	a, b, c := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	inv := &Inventory{Sources: []SourceCommit{{URL: "x", Ref: "branch main", Commit: a},
		{URL: "y", Ref: "branch main", Commit: b}, {URL: "x", Ref: "branch main", Commit: c}}}
	for _, test := range []struct {
		url  string
		n    int
		want string
	}{{"x", 0, a}, {"x", 1, c}, {"x", 2, c}, {"y", 0, b}, {"z", 0, strings.Repeat("0", 40)}} {
		if got := inv.Base(test.url, "branch main", test.n).String(); got != test.want {
			t.Errorf("%s %d: %s, not %s", test.url, test.n, got, test.want)
		}
	}
}
