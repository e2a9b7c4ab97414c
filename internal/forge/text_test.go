package forge

import (
	"strings"
	"testing"
	"unicode/utf8"
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

func TestAddressesOfGitHub(t *testing.T) {
	for url, want := range map[string][2]string{
		"https://github.com":              {"https://github.com", "https://api.github.com/"},
		"https://api.github.com":          {"https://github.com", "https://api.github.com/"},
		"https://octo.ghe.com":            {"https://octo.ghe.com", "https://api.octo.ghe.com/"},
		"https://ghe.example.com":         {"https://ghe.example.com", "https://ghe.example.com/api/v3/"},
		"https://ghe.example.com/api/v3/": {"https://ghe.example.com", "https://ghe.example.com/api/v3/"},
	} {
		at, err := parseAddress(kind{api: githubAddress}, Config{URL: url, Repository: "o/n"})
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
		if _, err := parseAddress(kind{api: apiAt("/api/v1/")}, cfg); err == nil ||
			strings.Contains(err.Error(), testToken) {
			t.Errorf("got %v", err)
		}
	}
}
