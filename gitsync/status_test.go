package gitsync_test

import (
	"testing"

	"github.com/agentry-dev/agentry/gitsync"
)

// TestLocate: a folder with the name of a mount is one only in the source that mounts something there.
func TestLocate(t *testing.T) {
	sources := []gitsync.SourceStatus{{Label: "fleet", Mounts: map[string]int{"@apps": 1}}, {Label: "apps"},
		{Label: "plain"}}
	for _, c := range []struct {
		source, file string
		want         int
		name         string
	}{
		{"fleet", "in/a.yaml", 0, "in/a.yaml"},
		{"fleet", "@apps/in/a.yaml", 1, "in/a.yaml"},
		{"apps", "@apps/a.yaml", 1, "@apps/a.yaml"},
		{"plain", "@apps/a.yaml", 2, "@apps/a.yaml"},
		{"plain", "@other/a.yaml", 2, "@other/a.yaml"},
		{"", "@apps/a.yaml", 1, "a.yaml"}, // nobody says of which
		{"", "a.yaml", -1, "a.yaml"},
	} {
		if i, name := gitsync.Locate(sources, c.source, c.file); i != c.want || name != c.name {
			t.Errorf("%s of %s is %s of %d, not %s of %d", c.file, c.source, name, i, c.name, c.want)
		}
	}
}
