package branch

import (
	"strings"
	"testing"
)

// TestBase: two sources of one branch can be at different commits, and each has its own. A repository stays the same
// one if it is reached over SSH from now on.
func TestBase(t *testing.T) {
	a, b, c := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	inv := &Inventory{Sources: []SourceCommit{{URL: "https://git.example.com/x", Ref: "branch main", Commit: a},
		{URL: "https://git.example.com/y", Ref: "branch main", Commit: b},
		{URL: "https://git.example.com/x", Ref: "branch main", Commit: c}}}
	for _, test := range []struct {
		url  string
		n    int
		want string
	}{
		{"https://git.example.com/x", 0, a}, {"https://git.example.com/x", 1, c}, {"https://git.example.com/x", 2, c},
		{"https://git.example.com/y", 0, b}, {"https://git.example.com/z", 0, strings.Repeat("0", 40)},
		{"git@git.example.com:y.git", 0, b}, {"ssh://git@git.example.com/x", 1, c},
	} {
		if got := inv.Base(test.url, "branch main", test.n).String(); got != test.want {
			t.Errorf("%s %d: %s, not %s", test.url, test.n, got, test.want)
		}
	}
}
