package gitsync_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWaiting(t *testing.T) {
	t.Parallel()
	edited := func(old, now string) string { return strings.Replace(monitor("a", "web", "http"), old, now, 1) }
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"an object with an error": {
			map[string]string{"in/a/web.yaml": bad("a")},
			[]string{"spec.endpoints[0].interval", "spec.endpoints[0].scrapeTimeout"},
		},
		"an object of a wrong type": {
			map[string]string{"in/a/web.yaml": edited("{port: http}",
				"{port: http, interval: 30, params: {a.b: [c]}}, {port: admin}")},
			[]string{"spec.endpoints[0].interval", "spec.endpoints[0].params", "spec.endpoints[1]"},
		},
		"a key that is there twice": {
			map[string]string{"in/a/web.yaml": edited("{port: http}", "{port: http, port: admin}")}, nil,
		},
		"a file that cannot be read": {map[string]string{"in/a/web.yaml": "{"}, nil},
		"two objects with an error": {
			map[string]string{"in/a/web.yaml": edited("{port: http}", "1"),
				"in/a/web2.yaml": edited("{port: http}", "2")}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			l.input(test.files)
			held := l.pass().Held
			if len(held) != 1 || held[0].As.Commit == "" {
				t.Fatalf("held: %v", held)
			}
			if diff := cmp.Diff(test.want, held[0].Waiting); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
