package forge

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/gitsync"
)

func TestTruncateKeepsWholeLinesAndSaysThatItCut(t *testing.T) {
	long := "# Title\n\n```diff\n" + strings.Repeat("+ é line\n", 100) + "```\n"
	for limit := 80; limit <= len(long)+1; limit++ {
		got := Truncate(long, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("limit %d: %d bytes", limit, len(got))
		}
		if limit >= len(long) {
			if got != long {
				t.Errorf("limit %d cuts what fits", limit)
			}
			continue
		}
		if !strings.HasSuffix(got, cutNote) || strings.Count(got, "```")%2 != 0 {
			t.Fatalf("limit %d: %s", limit, got)
		}
	}
	if got := Truncate(long, 10); got != "" {
		t.Errorf("no room even for the note: %q", got)
	}
}

func TestCutLineMakesOneLineOfAnything(t *testing.T) {
	for in, want := range map[string]string{
		"short":                 "short",
		" two\r\n lines\t\x00 ": "two lines",
		"bad \xff":              "bad ?",
		strings.Repeat("x", 10): "xxxxxxxxxx",
		strings.Repeat("x", 11): "xxxxxxx…",
		strings.Repeat("é", 6):  "ééé…",
		"\u2028separated\u2029": "separated",
	} {
		if got := cutLine(in, 10); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPlaceOfARepositoryAtItsForge(t *testing.T) {
	tests := map[string]struct {
		remote, url, site, repository string
	}{
		"https":                     {"https://github.com/org/monitoring.git", "", "https://github.com", "org/monitoring"},
		"ssh, in git's short form":  {"git@gitlab.example.com:platform/sre/monitoring.git", "", "https://gitlab.example.com", "platform/sre/monitoring"},
		"ssh on a port of its own":  {"ssh://git@git.example.com:2222/org/name", "", "https://git.example.com", "org/name"},
		"ssh through 443":           {"ssh://git@ssh.github.com:443/org/name.git", "", "https://github.com", "org/name"},
		"http with a port":          {"http://localhost:3000/org/name", "", "http://localhost:3000", "org/name"},
		"an address that is given":  {"git@git.example.com:org/name", "https://forge.example.com/", "https://forge.example.com", "org/name"},
		"a site below a path":       {"https://example.com/git/org/name.git", "https://example.com/git", "https://example.com/git", "org/name"},
		"a path that only looks so": {"https://example.com/github/name", "https://example.com/git", "https://example.com/git", "github/name"},
		"an API that is given":      {"https://ghe.example.com/org/name", "https://ghe.example.com/api/v3", "https://ghe.example.com/api/v3", "org/name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			site, repository, err := Place(test.remote, gitsync.Forge{URL: test.url})
			if err != nil || site != test.site || repository != test.repository {
				t.Errorf("got %s %s, %v", site, repository, err)
			}
		})
	}
	for _, remote := range []string{"file:///srv/git/org/name", "https://github.com/name", "ftp://x/y/z"} {
		if _, _, err := Place(remote, gitsync.Forge{}); err == nil {
			t.Errorf("%s has a place", remote)
		}
	}
}

func TestAddressesOfGitHub(t *testing.T) {
	for url, want := range map[string][2]string{
		"https://github.com":              {"https://github.com", "https://api.github.com/"},
		"https://api.github.com":          {"https://github.com", "https://api.github.com/"},
		"https://octo.ghe.com":            {"https://octo.ghe.com", "https://api.octo.ghe.com/"},
		"https://ghe.example.com":         {"https://ghe.example.com", "https://ghe.example.com/api/v3/"},
		"https://ghe.example.com/api/v3/": {"https://ghe.example.com", "https://ghe.example.com/api/v3/"},
	} {
		at, err := parseAddress(Config{Type: gitsync.ForgeGitHub, URL: url, Repository: "o/n"})
		if err != nil || at.site != want[0] || at.api != want[1] {
			t.Errorf("%s: %+v, %v", url, at, err)
		}
	}
}

func TestAddressesThatAreRefusedDoNotShowSecrets(t *testing.T) {
	for _, cfg := range []Config{
		{URL: "https://user:" + testToken + "@git.example.com", Repository: "o/n"},
		{URL: "https://git.example.com?private_token=" + testToken, Repository: "o/n"},
		{URL: "https://%zz" + testToken, Repository: "o/n"},
		{URL: "ssh://git.example.com", Repository: "o/n"},
		{URL: "https://git.example.com", Repository: "name"},
		{URL: "https://git.example.com", Repository: "a/b/c"},
	} {
		cfg.Type = gitsync.ForgeGitea
		if _, err := parseAddress(cfg); err == nil || strings.Contains(err.Error(), testToken) {
			t.Errorf("got %v", err)
		}
	}
}
