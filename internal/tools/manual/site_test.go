package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchored = regexp.MustCompile(`id="([^"]*)"`)
)

// TestEveryLinkLeadsSomewhere builds the site of this checkout, and follows its links.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	files, err := build(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for name, data := range files {
		for _, m := range anchored.FindAllStringSubmatch(string(data), -1) {
			anchors[name+"#"+m[1]] = true
		}
	}
	followed := 0
	for name, data := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range linked.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") || m[1] == "data:," {
				continue
			}
			followed++
			to, fragment, _ := strings.Cut(m[1], "#")
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if _, ok := files[target]; !ok {
				t.Errorf("%s: %s leads nowhere", name, m[1])
			} else if fragment != "" && path.Ext(target) == ".html" && !anchors[target+"#"+fragment] {
				t.Errorf("%s: %s has no such anchor", name, m[1])
			}
		}
	}
	if followed < 1000 {
		t.Errorf("only %d links were followed", followed)
	}
}

// TestPagesSayWhatToReadNext: so that nobody ends in a blind alley.
func TestPagesSayWhatToReadNext(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"docs/*.md", "charts/*/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 50 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, file := range pages {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if last := text[bytes.LastIndex(text, []byte("\n\n"))+1:]; !strings.HasSuffix(file, contents) &&
			!bytes.HasPrefix(last, []byte("\nWhat to read next: ")) {
			t.Errorf("%s does not end with what to read next", file)
		}
	}
}

// tree writes a small manual.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{
		contents: "# Manual\n\n## Start\n\n- [One](one.md): the first\n- [Top](../README.md)\n",
		"docs/one.md": "# One\n\nText `code`.\n\n## A `b` and c!\n\n" +
			"[back](README.md#start) [top](../README.md) [file](../a.yaml)\n\n## A b and c\n\n| a |\n|---|\n| zebra |\n",
		"README.md": "# Top\n\n[one](docs/one.md#a-b-and-c) [again](docs/one.md#a-b-and-c-1) " +
			"[away](https://example.com/x.md) [folder](docs)\n\n" +
			"[address](" + blob + "docs/one.md#a-b-and-c)\n",
		"a.yaml": "a: 1\n",
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestMistakes holds the errors about mistakes in a manual.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"a page that is not listed": {"docs/two.md", "# Two\n",
			"docs/two.md is not in the lists of docs/README.md: add it where people should read it"},
		"a listed page that is not there": {contents, "# M\n\n## S\n\n- [Gone](gone.md)\n- [One](one.md)\n",
			"docs/README.md lists a page that cannot be read"},
		"a page that is listed twice": {contents, "# M\n\n## S\n\n- [One](one.md)\n- [Uno](one.md)\n",
			"docs/README.md lists docs/one.md twice"},
		"a link to no page": {"README.md", "[x](docs/three.md)",
			"README.md: the link to docs/three.md: docs/three.md does not exist, or is not in the lists of " +
				"docs/README.md"},
		"an address of no page": {"README.md", "[x](" + blob + "docs/three.md)", "docs/three.md does not exist"},
		"an address of no heading": {"README.md", "[x](" + blob + "docs/one.md#away)",
			"docs/one.md has no heading #away"},
		"a link to no file": {"README.md", "[x](b.yaml)", "README.md: the link to b.yaml"},
		"a link to no heading": {"README.md", "[x](docs/one.md#away)",
			"README.md: the link to docs/one.md#away: docs/one.md has no heading #away"},
		"a link to no heading here":   {"README.md", "[x](#away)", "README.md has no heading #away"},
		"a picture that is not there": {"README.md", "![x](x.png)", "README.md: the link to x.png"},
		"a link to another folder":    {"README.md", "[x](../b)", "it leads outside of the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := build(tree(t, map[string]string{c.file: c.text})); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestPagesAreLinked holds how links, headings, tables and the index are converted.
func TestPagesAreLinked(t *testing.T) {
	files, err := build(tree(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"docs/one.html": {`<h2 id="a-b-and-c">`, `<h2 id="a-b-and-c-1">`, `<a href="index.html#start">back</a>`,
			`<a href="../readme.html">top</a>`, `<a href="../a.yaml">file</a>`,
			`<th scope="col">a</th>`, `aria-current="page">One</a>`, `<a rel="next" href="../readme.html">Top →</a>`},
		"readme.html": {`<a href="docs/one.html#a-b-and-c-1">again</a>`,
			`<a href="docs/one.html#a-b-and-c">address</a>`, `<a href="https://example.com/x.md">away</a>`, `<a href="docs/index.html">folder</a>`},
		"search-index.js": {
			`{"page":"One","address":"docs/one.html#a-b-and-c-1","heading":"A b and c","text":"a zebra"}`},
		"a.yaml": {"a: 1"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[name]), want) {
				t.Errorf("%s does not have %s:\n%s", name, want, files[name])
			}
		}
	}
}

// TestEditsAreServed reloads a page after an edit.
func TestEditsAreServed(t *testing.T) {
	root := tree(t, nil)
	get := func(address string) (int, string) {
		w := httptest.NewRecorder()
		handler(root).ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		return w.Code, w.Body.String()
	}
	if code, body := get("/docs/"); code != http.StatusOK || !strings.Contains(body, "Manual") {
		t.Errorf("%d\n%s", code, body)
	}
	if code, _ := get("/docs/gone.html"); code != http.StatusNotFound {
		t.Errorf("a page that is not there answers %d", code)
	}
	for text, want := range map[string]int{"# One\n\nAn edit.\n\n## A b and c\n\n## A b and c\n": http.StatusOK,
		"[An edit.](gone.md)": http.StatusInternalServerError} {
		if err := os.WriteFile(filepath.Join(root, "docs", "one.md"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if code, body := get("/docs/one.html"); code != want ||
			want == http.StatusOK && !strings.Contains(body, "An edit.") {
			t.Errorf("%q: %d\n%s", text, code, body)
		}
	}
}

// TestSiteReplacesAnEarlierOne holds that no page of an earlier site stays.
func TestSiteReplacesAnEarlierOne(t *testing.T) {
	out := t.TempDir()
	old := filepath.Join(out, "old.html")
	if err := os.WriteFile(old, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), tree(t, nil), out, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old page is still there")
	}
	if _, err := os.Stat(filepath.Join(out, "docs", "one.html")); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), out, "", ""); err == nil {
		t.Error("neither -out nor -serve is an error")
	}
}
