package kustomize

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRemote(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]Remote{
		"https://github.com/o/r":                      {URL: "https://github.com/o/r", Path: "."},
		"https://github.com/o/r?ref=v1":               {URL: "https://github.com/o/r", Ref: "v1", Path: "."},
		"https://github.com/o/r/a/b?ref=v1":           {URL: "https://github.com/o/r", Ref: "v1", Path: "a/b"},
		"https://github.com/o/r//a/b?ref=v1":          {URL: "https://github.com/o/r", Ref: "v1", Path: "a/b"},
		"https://github.com/o/r//a/../b/?ref=v1":      {URL: "https://github.com/o/r", Ref: "v1", Path: "b"},
		"https://github.com/o/r.git/a":                {URL: "https://github.com/o/r.git", Path: "a"},
		"https://me@github.com/o/r":                   {URL: "me@github.com:o/r", Path: "."},
		"git::https://GITHUB.com/o/r":                 {URL: "https://github.com/o/r", Path: "."},
		"GIT::HTTPS://github.com/o/r":                 {URL: "https://github.com/o/r", Path: "."},
		"github.com/o/r/a":                            {URL: "https://github.com/o/r", Path: "a"},
		"GitHub.com:o/r":                              {URL: "https://github.com/o/r", Path: "."},
		"git@github.com:o/r//a?version=v1":            {URL: "git@github.com:o/r", Ref: "v1", Path: "a"},
		"git@github.com/o/r":                          {URL: "git@github.com:o/r", Path: "."},
		"ssh://github.com/o/r":                        {URL: "git@github.com:o/r", Path: "."},
		"ssh://me@github.com/o/r":                     {URL: "me@github.com:o/r", Path: "."},
		"ssh://git@git.example.com:7999/o/r.git//a":   {URL: "ssh://git@git.example.com:7999/o/r.git", Path: "a"},
		"git@git.example.com:o/r.git//a":              {URL: "git@git.example.com:o/r.git", Path: "a"},
		"git@git.example.com:group/sub/r//a":          {URL: "git@git.example.com:group/sub/r", Path: "a"},
		"https://git.example.com/group/sub/r//a":      {URL: "https://git.example.com/group/sub/r", Path: "a"},
		"https://git.example.com/group/sub/r":         {URL: "https://git.example.com/group/sub", Path: "r"},
		"https://me@dev.azure.com/o/p/_git/r/a/b":     {URL: "https://me@dev.azure.com/o/p/_git/r", Path: "a/b"},
		"https://host/o/p/_git/r?version=v1&x":        {URL: "https://host/o/p/_git/r", Ref: "v1", Path: "."},
		"https://github.com/o/r?version=v1&ref=v2":    {URL: "https://github.com/o/r", Ref: "v2", Path: "."},
		"https://github.com/o/r?timeout=60&ref=a%2Fb": {URL: "https://github.com/o/r", Ref: "a/b", Path: "."},
		"https://github.com/o/r?ref=a;b":              {URL: "https://github.com/o/r", Path: "."},
		"file:///srv/git/r":                           {URL: "file:///srv/git/r", Path: "."},
		"file:///srv/git/r//a?ref=main":               {URL: "file:///srv/git/r", Ref: "main", Path: "a"},
		"file:///srv/git/r.git/a":                     {URL: "file:///srv/git/r.git", Path: "a"},
		"https://github.com/o/r/releases/download/v1/all.yaml": {
			URL: "https://github.com/o/r/releases/download/v1/all.yaml", IsFile: true},
		"https://example.com/all.YML?token=x": {URL: "https://example.com/all.YML?token=x", IsFile: true},
		"https://github.com/o/r//all.yaml":    {URL: "https://github.com/o/r", Path: "all.yaml"},
	} {
		got, err := parseRemote(entry, false)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", entry, got, err, want)
		}
	}
	for _, entry := range []string{"https://github.com/", "https://github.com/o", "github.com/o", "git@github.com:o",
		"git@host", "https://", "https://host", "https:///o/r", "file://", "file:////a", "ftp://host/o/r",
		"https://github.com/o/r//..", "https://github.com/o/r//a/../../b", "https://github.com/o/r.git/../x",
		"https://github.com/o/r/../../x", "git::", "git::x/y/z", "host:o/r", "//o/r"} {
		if got, err := parseRemote(entry, false); err == nil {
			t.Errorf("%s is %+v, but names no repository", entry, got)
		}
	}
	if _, err := parseRemote("git+https://github.com/o/r", false); err == nil ||
		err.Error() != `kustomize does not know the scheme "git+https"` {
		t.Error(err)
	}
	for entry, isFile := range map[string]bool{"https://example.com/o/r": true,
		"HTTP://example.com/o/r//x?ref=v1": true,
		"git::https://example.com/o/r":     false, "git@example.com:o/r": false, "file:///o/r": false} {
		if got, err := parseRemote(entry, true); (err == nil) != isFile || got.IsFile != isFile {
			t.Errorf("%s as a file is %+v, %v", entry, got, err)
		}
	}
}

func FuzzParseRemote(f *testing.F) {
	f.Add("git::https://me@github.com/o/r.git//a?ref=v1")
	f.Add("file:///o/_git/r//../x")
	f.Fuzz(func(t *testing.T, entry string) {
		r, err := parseRemote(entry, false)
		if err == nil && (r.URL == "" || !r.IsFile && (strings.HasPrefix(r.Path, "/") || r.Path == ".." ||
			strings.HasPrefix(r.Path, "../"))) {
			t.Errorf("%q is %+v", entry, r)
		}
	})
}

// TestAFileWithAQueryIsRemote: the = of a query does not make it a name.
func TestAFileWithAQueryIsRemote(t *testing.T) {
	t.Parallel()
	var f file
	if err := f.Unmarshal([]byte("configMapGenerator: [{name: a, files: ['https://x.example.com/d.json?token=x', " +
		"'k=https://x.example.com/d.json?token=x', k=d.json]}]\n")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range f.entries() {
		got = append(got, e.path)
	}
	want := []string{"https://x.example.com/d.json?token=x", "https://x.example.com/d.json?token=x", "d.json"}
	if !slices.Equal(got, want) {
		t.Errorf("the entries are %q, want %q", got, want)
	}
}
