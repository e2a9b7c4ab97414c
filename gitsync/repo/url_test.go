package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

func TestNormaliseURL(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{
		"https://GitHub.com/Org/Repo.git":       "https://github.com/Org/Repo",
		"HTTPS://github.com:443/Org/Repo/":      "https://github.com/Org/Repo",
		"https://github.com:8443/Org//Repo.git": "https://github.com:8443/Org/Repo",
		"http://git.example.com:80/a":           "http://git.example.com/a",
		"https://bot@git.example.com/a":         "https://git.example.com/a",
		"https://[::1]:443/a.git":               "https://[::1]/a",
		"https://[::1]:8443/a.git":              "https://[::1]:8443/a",
		"https://h/a%20b":                       "https://h/a%20b",
		"git@github.com:Org/Repo.git":           "ssh://github.com/Org/Repo",
		"github.com:Org/Repo":                   "ssh://github.com/Org/Repo",
		"ssh://git@github.com:22/Org/Repo.git":  "ssh://github.com/Org/Repo",
		"ssh://git@github.com:2222/Org/Repo":    "ssh://github.com:2222/Org/Repo",
		"git+ssh://git@github.com/Org/Repo":     "ssh://github.com/Org/Repo",
		"git@[::1]:Org/Repo":                    "ssh://[::1]/Org/Repo",
		"git@h:/srv/r.git":                      "ssh://h/srv/r",
		"/srv/git/r.git":                        "file:///srv/git/r.git",
		"/srv/git/r.git/":                       "file:///srv/git/r.git",
		"/srv/with:colon":                       "file:///srv/with:colon",
		"file:///srv/git/../git/r.git":          "file:///srv/git/r.git",
		"file://localhost/srv":                  "file:///srv",
		"r.git":                                 "file://" + filepath.Join(wd, "r.git"),
		"./a:b":                                 "file://" + filepath.Join(wd, "a:b"),
	} {
		got, err := transport.NormaliseURL(raw)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
		if again, err := transport.NormaliseURL(got); err == nil && again != got {
			t.Errorf("%s: normalised twice is %q", got, again)
		}
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                              "empty",
		"https://bot:s3cret@h/a":        "contains a password",
		"ssh://git:s3cret@h/a":          "contains a password",
		"https://bot:s3cret@h:bad/a":    "cannot be parsed",
		"https://h/a?token=s3cret":      "a query or a fragment",
		"https://h/a#s3cret":            "a query or a fragment",
		"https://h":                     "needs a host and a path",
		"https:///a":                    "needs a host and a path",
		"git://h/a":                     `scheme "git" is not supported`,
		"ext::sh -c s3cret@:% x":        "neither a path",
		"https://h/a\nb":                "control characters",
		"file://host/share":             "names a host",
		"bot:s3cret@git.example.com:/a": "put credentials into auth",
	} {
		_, err := transport.NormaliseURL(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error shows the secret: %v", raw, err)
		}
		if _, err := repo.Open(t.TempDir(), transport.Remote{URL: raw}, repo.Options{}); err == nil {
			t.Errorf("%s: was opened", raw)
		}
	}
}

func TestContradictoryCredentials(t *testing.T) {
	t.Parallel()
	key, _ := gittest.NewSSHKey(t)
	hosts := []byte("h ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8nP8lvYqSWUdzAfgKXJ5fTWvSGGqYVW6kmkqmWZ+Ux\n")
	for name, tc := range map[string]struct {
		url  string
		auth transport.Auth
		want string
	}{
		"two ways at once": {"https://h/a", transport.Auth{Password: "a", BearerToken: "b"},
			"more than one of a password, a bearer token"},
		"no PEM certificate": {"https://h/a",
			transport.Auth{Connection: httpclient.Connection{CAPEM: []byte("nonsense")}}, "no PEM certificate"},
		"no key": {"ssh://h/a", transport.Auth{KnownHosts: hosts}, "needs a private key"},
		"a key that is none": {"ssh://h/a", transport.Auth{SSHKey: []byte("s3cret"), KnownHosts: hosts},
			"cannot be parsed"},
		"no known_hosts": {"ssh://h/a", transport.Auth{SSHKey: key}, "known_hosts"},
		"bad known_hosts": {"ssh://h/a", transport.Auth{SSHKey: key, KnownHosts: []byte("h ssh-rsa nonsense\n")},
			"parse known_hosts"},
		"only a passphrase": {"ssh://h/a", transport.Auth{SSHPassphrase: []byte("x"), KnownHosts: hosts},
			"passphrase without"},
	} {
		_, err := repo.Open(t.TempDir(), transport.Remote{URL: tc.url, Auth: tc.auth}, repo.Options{})
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	g := gittest.NewRepo(t)
	first := g.Commit("main", map[string]string{"a": "1"})
	for _, tag := range []string{"v1.0.0", "v1.4.2", "1.5.0-rc.1", "v2.0.0", "latest", "v1.9"} {
		g.Git("tag", tag, "main")
	}
	g.Git("tag", "-a", "-m", "annotated", "v1.4.3", "main")
	second := g.Commit("main", map[string]string{"a": "2"})
	g.Git("update-ref", "refs/pull/7/head", first)
	for i := range 12 {
		g.Git("branch", "team-"+string(rune('a'+i)), "main")
	}
	refs, err := open(t, transport.Remote{URL: g.Dir}, repo.Options{}).List(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ref    repo.Ref
		commit string
		full   string
		err    string
	}{
		"the default":             {repo.Ref{}, second, "refs/heads/main", ""},
		"a tag":                   {repo.Ref{Tag: "latest"}, first, "refs/tags/latest", ""},
		"an annotated tag":        {repo.Ref{Tag: "v1.4.3"}, first, "refs/tags/v1.4.3", ""},
		"a range":                 {repo.Ref{SemVer: ">=1.0.0 <2.0.0"}, first, "refs/tags/v1.4.3", ""},
		"a range with candidates": {repo.Ref{SemVer: ">=1.0.0-0 <2.0.0"}, first, "refs/tags/1.5.0-rc.1", ""},
		"a full name":             {repo.Ref{Name: "refs/pull/7/head"}, first, "refs/pull/7/head", ""},
		"the name wins": {repo.Ref{Name: "refs/heads/main", Tag: "latest", Branch: "x"}, second,
			"refs/heads/main", ""},
		"the range wins": {repo.Ref{SemVer: "2.x", Tag: "latest"}, first, "refs/tags/v2.0.0", ""},
		"a commit":       {repo.Ref{Commit: first, Branch: "x"}, first, "", ""},
		"half a commit":  {repo.Ref{Commit: first[:10]}, "", "", "40 hexadecimal digits"},
		"a typing error": {repo.Ref{Branch: "mian"}, "", "",
			"branch mian of file://" + g.Dir +
				": not found in the remote; did you mean main? existing branches: main, team-a, "},
		"many branches":        {repo.Ref{Branch: "production"}, "", "", "team-i and 3 more"},
		"the other default":    {repo.Ref{Branch: "master"}, "", "", "did you mean main?"},
		"no such tag":          {repo.Ref{Tag: "v1.4.4"}, "", "", "did you mean v1."},
		"no such range":        {repo.Ref{SemVer: ">=3"}, "", "", "existing tags: 1.5.0-rc.1, latest, "},
		"a range that is none": {repo.Ref{SemVer: "new"}, "", "", "parse the range"},
		"a name that is none":  {repo.Ref{Name: "main"}, "", "", `must start with "refs/"`},
	} {
		t.Run(name, func(t *testing.T) {
			tip, err := refs.Resolve(tc.ref)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.full, tc.commit}, []string{tip.Ref, tip.Commit.String()}); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := refs.Resolve(repo.Ref{Branch: "mian", Optional: true}); err != nil {
		t.Errorf("an optional ref: %v", err)
	}
}
