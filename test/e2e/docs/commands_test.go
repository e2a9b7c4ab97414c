package docs

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// TestCommands types what stands on the pages.
func TestCommands(t *testing.T) {
	count := &tally{}
	byPage := map[string][]page.Block{}
	var order []string
	for _, b := range blocks(t) {
		_, typed := typedElsewhere()[b.Page][b.Language]
		switch {
		case !isCommands(b):
			if b.NoRun != "" {
				t.Errorf("%s: no-run is for commands", b)
			}
		case b.NoRun != "":
			count.not = append(count.not, b)
		case typed:
			count.elsewhere++
		default:
			if byPage[b.Page] == nil {
				order = append(order, b.Page)
			}
			byPage[b.Page] = append(byPage[b.Page], b)
			count.here++
		}
	}
	count.print()
	controllers(t)
	for _, name := range order {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			typed, ok := pages()[name]
			if !ok {
				t.Fatalf("%s: nobody types it. Say in pages() what it needs, or above it <!-- no-run: reason -->",
					byPage[name][0])
			}
			s := newSession(t)
			defer s.tidy()
			typed.before(s)
			var said strings.Builder
			for _, b := range byPage[name] {
				said.WriteString(s.enter(b))
			}
			typed.after(s, said.String())
		})
	}
	for name := range pages() {
		if byPage[name] == nil {
			t.Errorf("%s has no commands that are typed here", name)
		}
	}
}
