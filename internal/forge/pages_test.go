package forge

import (
	"testing"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

func TestPages(t *testing.T) {
	const commit = "2f1e0d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"
	for name, test := range map[string]struct {
		forge        *pipeline.Forge
		repository   string
		commit, file string
	}{
		"GitHub, of which nobody says so": {nil, "git@github.com:org/monitoring.git",
			"https://github.com/org/monitoring/commit/" + commit,
			"https://github.com/org/monitoring/blob/" + commit + "/a%20b/c.yaml#L7"},
		"GitLab": {nil, "https://gitlab.com/a/b/c",
			"https://gitlab.com/a/b/c/-/commit/" + commit,
			"https://gitlab.com/a/b/c/-/blob/" + commit + "/a%20b/c.yaml#L7"},
		"Codeberg": {nil, "https://codeberg.org/a/b",
			"https://codeberg.org/a/b/commit/" + commit,
			"https://codeberg.org/a/b/src/commit/" + commit + "/a%20b/c.yaml#L7"},
		"Enterprise": {&pipeline.Forge{Type: pipeline.ForgeGitHub, URL: "https://ghe.example.com"},
			"ssh://git@ghe.example.com/a/b.git",
			"https://ghe.example.com/a/b/commit/" + commit,
			"https://ghe.example.com/a/b/blob/" + commit + "/a%20b/c.yaml#L7"},
		"a site in a folder": {&pipeline.Forge{Type: pipeline.ForgeGitLab, URL: "https://example.com/gitlab"},
			"https://example.com/gitlab/a/b.git",
			"https://example.com/gitlab/a/b/-/commit/" + commit,
			"https://example.com/gitlab/a/b/-/blob/" + commit + "/a%20b/c.yaml#L7"},
		"a host that nobody knows": {nil, "https://git.example.com/a/b", "", ""},
		"no address of a page": {&pipeline.Forge{Type: pipeline.ForgeGitHub, URL: "javascript:alert(1)"},
			"https://git.example.com/a/b", "", ""},
		"no repository": {nil, "https://github.com/", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := PagesOf(test.forge, test.repository)
			if got := p.Commit(commit); got != test.commit {
				t.Errorf("commit %q", got)
			}
			if got := p.File(commit, "a b/c.yaml", 7); got != test.file {
				t.Errorf("file %q", got)
			}
			if p.Commit("") != "" || p.File("", "x", 1) != "" || p.File(commit, "", 1) != "" {
				t.Error("what is not there has a page")
			}
		})
	}
	if got := PagesOf(nil, "https://github.com/a/b").File(commit, `"><script>/x#y?z.yaml`, 0); got !=
		"https://github.com/a/b/blob/"+commit+"/%22%3E%3Cscript%3E/x%23y%3Fz.yaml" {
		t.Errorf("a hostile name: %q", got)
	}
}
