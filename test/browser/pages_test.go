package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostile is what a stranger may write where text is shown.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;`

// long is a word that has no place to break it.
func long() string { return strings.Repeat("unbreakable", 40) }

// subject is a page.
type subject struct {
	path string
	says []string // what it must say, in these words
	// large pages have too many links to walk through.
	large bool
	// isolated pages are looked at, but their links are not followed.
	isolated bool
}

// examine looks at pages in all ways.
func examine(t *testing.T, browser context.Context, server *httptest.Server, subjects map[string]subject) {
	for name, want := range subjects {
		t.Run(name, func(t *testing.T) {
			var first *sight
			for _, l := range looks() {
				s := visit(t, browser, server.URL+want.path, l)
				for _, complaint := range s.complaints() {
					t.Errorf("%s: %s", l, complaint)
				}
				if l.scripts {
					for _, complaint := range s.axe(t) {
						t.Errorf("%s: %s", l, complaint)
					}
				}
				if dark := isDark(s.Canvas); dark != l.dark {
					t.Errorf("%s: the page is on %s", l, s.Canvas)
				}
				s.picture(t, strings.ReplaceAll(t.Name(), "/", " ")+" "+l.String())
				if first == nil {
					first = s
				}
			}
			for _, word := range want.says {
				if !strings.Contains(first.Text, word) {
					t.Errorf("does not say %q:\n%s", word, first.Text)
				}
			}
			if !want.large {
				walk(t, first)
			}
			if !want.isolated {
				follow(t, server, slices.Concat(first.Links, first.Resources))
			}
		})
	}
}

// walk holds that the tabulator leads to each link, in order, and that one sees where one is.
func walk(t *testing.T, s *sight) {
	t.Helper()
	var reached []string
	for _, at := range s.tabs(t, len(s.Links)+s.Fields) {
		if at.Href != "" { // else it is a field of a form
			reached = append(reached, at.Href)
		}
		if !at.Outline {
			t.Errorf("the focus is not seen on %q", at.Href)
		}
	}
	if diff := cmp.Diff(s.Links, reached); diff != "" {
		t.Errorf("links (-there +reached by keyboard):\n%s", diff)
	}
}

// follow asks for addresses.
func follow(t *testing.T, server *httptest.Server, addresses []string) {
	t.Helper()
	slices.Sort(addresses)
	for _, address := range slices.Compact(addresses) {
		if strings.HasPrefix(address, "https://github.com/") {
			continue // the forge that the pipelines name
		}
		if !strings.HasPrefix(address, server.URL+"/") {
			t.Errorf("leads to %s", address)
			continue
		}
		answer, err := server.Client().Get(address)
		if err != nil {
			t.Error(err)
			continue
		}
		_ = answer.Body.Close() // It was not read.
		if answer.StatusCode == http.StatusServiceUnavailable && ofRepository.MatchString(address) {
			continue // a fleet that stands still has no repositories; TestThePagesOfARepository shows these pages
		}
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", address, answer.Status)
		}
	}
}

// ofRepository matches the pages of what is in the repositories of a pipeline.
var ofRepository = regexp.MustCompile(`/pipelines/[^/]+/(commits|output)\b`)

func isDark(canvas string) bool {
	c, ok := channels(canvas)
	return ok && luminance(c) < 0.2
}

// serve serves a handler while the test runs.
func serve(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// TestWhatIsWrongIsFound shows a page that has everything that pages must not have.
func TestWhatIsWrongIsFound(t *testing.T) {
	bad := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "img-src 'none'")
		fmt.Fprint(w, `<!DOCTYPE html><html lang="fr"><body><h2>No title</h2>
			<table><tr><th>loose</th></tr></table>
			<p style="color: #999; font-size: 8px">pale</p>
			<p style="width: 2000px">wide</p>
			<p class="bad">good</p> <p class="good">3 pods</p>
			<a href="/gone"></a>
			<a href="/there" style="outline: none">unseen</a>
			<img src="/refused.png">
			<link rel="stylesheet" href="http://elsewhere.example.com/style.css">
			<script>console.log("talks"); alert("stop"); nonsense();</script></body></html>`)
	}))
	s := visit(t, chromium(t), bad.URL+"/", looks()[0])
	all := strings.Join(s.complaints(), "\n")
	for _, want := range []string{
		"has no title", `the language "fr"`, "wide in a window of 360", "a script that is not ours",
		"has an element img", "has an attribute style",
		"has the headings [2]", `do not say of what: ["loose"]`, "tables without a name", "links without words",
		`"good" in the colour of what is bad`, `"3 pods" in the colour of what is good`,
		`"pale" with a contrast of 2.8`, `"pale" in 8.0 px`,
		"writes to the console", "says stop", "nonsense is not defined",
		"asks for http://elsewhere.example.com/style.css", "ContentSecurityPolicyIssue",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nobody says %q:\n%s", want, all)
		}
	}
	if at := s.tabs(t, 2); at[0].Href != bad.URL+"/gone" || at[1].Outline {
		t.Errorf("the keyboard leads to %+v", at)
	}
}
