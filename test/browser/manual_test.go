package browser

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// manual makes the site of docs/ from a clone, which has nothing but what is committed, and serves it.
func manual(t *testing.T) string {
	t.Helper()
	clone, site := filepath.Join(t.TempDir(), "clone"), filepath.Join(t.TempDir(), "site")
	for _, args := range [][]string{
		{"git", "clone", "-q", "--no-hardlinks", filepath.Join("..", ".."), clone},
		{"go", "-C", filepath.Join(clone, "internal", "tools", "manual"), "run", ".", "-root", clone, "-out", site},
	} {
		var errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, &errs)
		}
	}
	return serve(t, http.FileServer(http.Dir(site))).URL
}

// ofStrangers are complaints about what strangers write. Nobody but us writes the manual, so it may have pictures, and
// its tables are named by the headings above them.
func ofStrangers(complaint string) bool {
	for _, start := range []string{"has an element ", "has an attribute ", "has a script that is not ours",
		"has tables without a name"} {
		if strings.HasPrefix(complaint, start) {
			return true
		}
	}
	return false
}

// blame says what is wrong with a page of the manual.
func blame(t *testing.T, s *sight, l look) {
	t.Helper()
	for _, complaint := range s.complaints() {
		if !ofStrangers(complaint) {
			t.Errorf("%s: %s", l, complaint)
		}
	}
	if l.scripts {
		for _, complaint := range s.axe(t) {
			t.Errorf("%s: %s", l, complaint)
		}
	}
}

// TestTheManual looks at pages of the manual, and searches them. The browser reaches no other host.
func TestTheManual(t *testing.T) {
	address := manual(t)
	browser := chromium(t)
	for path, says := range map[string]string{
		"/docs/":              "The guides are in reading order",
		"/docs/concepts.html": "From a GrafanaAgent to pods",
		"/docs/serve.html":    "The console",
		"/readme.html":        "For whom",
	} {
		t.Run(path, func(t *testing.T) {
			for _, l := range looks() {
				s := visit(t, browser, address+path, l)
				blame(t, s, l)
				if !strings.Contains(s.Text, says) {
					t.Errorf("%s: does not say %q:\n%s", l, says, s.Text)
				}
				if dark := isDark(s.Canvas); dark != l.dark {
					t.Errorf("%s: the page is on %s", l, s.Canvas)
				}
				const loaded = `[...document.images].every(i => i.complete && i.naturalWidth > 0)`
				if l.scripts && !get(t, s.tab, chromedp.Evaluate[bool](loaded)) {
					t.Errorf("%s: a picture is not shown", l)
				}
				s.picture(t, strings.ReplaceAll(t.Name(), "/", " ")+" "+l.String())
			}
		})
	}
	for _, l := range []look{looks()[0], looks()[1], looks()[4]} {
		t.Run("search "+l.String(), func(t *testing.T) { search(t, visit(t, browser, address+"/docs/", l), l) })
	}
}

// seek presses the key that leads to the search, and empties it: the browser's protocol types a key even where the page
// has taken it.
func seek(t *testing.T, s *sight) {
	t.Helper()
	do(t, s.tab, chromedp.KeyEvent("/"), chromedp.KeyEvent(kb.Escape))
	if at := get(t, s.tab, chromedp.Evaluate[string](
		`document.activeElement.id + ' ' + document.activeElement.value`)); at != "query " {
		t.Errorf("the key / leads to %q", at)
	}
}

// search finds a heading by keyboard only, and goes there.
func search(t *testing.T, s *sight, l look) {
	t.Helper()
	seek(t, s)
	for _, key := range "one pipeline for each folder" {
		do(t, s.tab, chromedp.KeyEvent(string(key)))
	}
	const found = `new Promise(done => setInterval(() => document.querySelector('#results a') && done(document.querySelector('#results a').textContent), 50))`
	if first := get(t, s.tab, chromedp.Evaluate[string](found, chromedp.EvalAwaitPromise)); !strings.HasPrefix(first,
		"One pipeline for each folder") {
		t.Errorf("the first result is %q", first)
	}
	s.facts = get(t, s.tab, chromedp.Evaluate[facts](measure))
	blame(t, s, l)
	s.picture(t, strings.ReplaceAll(t.Name(), "/", " "))
	do(t, s.tab, chromedp.KeyEvent(kb.Enter))
	const there = `new Promise(done => setInterval(() => location.hash && done(location.pathname + location.hash), 50))`
	if at := get(t, s.tab, chromedp.Evaluate[string](there, chromedp.EvalAwaitPromise)); at !=
		"/docs/pipeline.html#one-pipeline-for-each-folder" {
		t.Errorf("Enter leads to %s", at)
	}
	seek(t, s)
	for _, key := range "xyzzy" {
		do(t, s.tab, chromedp.KeyEvent(string(key)))
	}
	const none = `new Promise(done => setInterval(() => document.getElementById('found').textContent && done(document.getElementById('found').textContent), 50))`
	if says := get(t, s.tab, chromedp.Evaluate[string](none, chromedp.EvalAwaitPromise)); says != "Nothing found" {
		t.Errorf("of a word that is on no page it says %q", says)
	}
}
