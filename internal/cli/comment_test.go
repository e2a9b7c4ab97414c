package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

// site is a GitHub with one pull request, and its comments.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	comments []map[string]any
	writes   int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any) { _ = json.NewEncoder(w).Encode(value) }
	mux.HandleFunc("GET /api/v3/repos/org/monitoring/issues/7/comments", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, s.comments)
	})
	mux.HandleFunc("POST /api/v3/repos/org/monitoring/issues/7/comments",
		func(w http.ResponseWriter, req *http.Request) {
			c := map[string]any{}
			_ = json.NewDecoder(req.Body).Decode(&c)
			c["id"] = len(s.comments)
			s.comments, s.writes = append(s.comments, c), s.writes+1
			answer(w, c)
		})
	mux.HandleFunc("PATCH /api/v3/repos/org/monitoring/issues/comments/{id}",
		func(w http.ResponseWriter, req *http.Request) {
			var id int
			_, _ = fmt.Sscan(req.PathValue("id"), &id)
			_ = json.NewDecoder(req.Body).Decode(&s.comments[id])
			s.writes++
			answer(w, s.comments[id])
		})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if req.Header.Get("Authorization") != "Bearer s3cret-t0ken" {
			w.WriteHeader(http.StatusForbidden)
			answer(w, map[string]string{"message": "Resource not accessible by integration"})
			return
		}
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s
}

// diff runs agentry diff --comment.
func (s *site) diff(t *testing.T, token string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	env := Env{Stdout: &out, Stderr: &errs, LookupEnv: func(name string) (string, bool) {
		return token, name == "FORGE_TOKEN" && token != ""
	}}
	args = append([]string{"agentry", "diff", "--comment", s.URL + "/org/monitoring/pull/7"}, args...)
	code = Run(t.Context(), args, env)
	return code, out.String(), errs.String()
}

func TestADifferenceBecomesAComment(t *testing.T) {
	s, before, after := newSite(t), t.TempDir(), t.TempDir()
	quickstart := os.DirFS(filepath.Join("..", "..", "examples", "quickstart"))
	for _, folder := range []string{before, after} {
		if err := os.CopyFS(folder, quickstart); err != nil {
			t.Fatal(err)
		}
	}
	diff := func(want int) string {
		t.Helper()
		code, out, errs := s.diff(t, "s3cret-t0ken\n", before, after)
		if code != want || strings.Contains(out+errs, "s3cret") {
			t.Fatalf("exit code %d, want %d\n%s%s", code, want, out, errs)
		}
		return out
	}
	if diff(command.ExitDone); s.writes != 0 {
		t.Fatalf("a comment about nothing: %v", s.comments)
	}
	edit := func(old, new string) {
		t.Helper()
		file := filepath.Join(after, "team-shop", "monitors.yaml")
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), old) {
			t.Fatalf("%s has no %q: %v", file, old, err)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, new, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(writes int, texts ...string) {
		t.Helper()
		if len(s.comments) != 1 || s.writes != writes {
			t.Fatalf("%d comments after %d writes, want one after %d", len(s.comments), s.writes, writes)
		}
		for _, text := range texts {
			if !strings.Contains(fmt.Sprint(s.comments[0]["body"]), text) {
				t.Errorf("%q is not in the comment:\n%s", text, s.comments[0]["body"])
			}
		}
	}
	edit("interval: 30s", "interval: 45s")
	if out := diff(command.ExitDone); !strings.HasPrefix(out, "1 object changed\n") {
		t.Errorf("what is printed is no text:\n%s", out)
	}
	expect(1, "<!-- agentry:diff:", "### agentry: `"+after+"`", "**1 object changed**", "scrape_interval: 30s → 45s")
	diff(command.ExitDone)
	expect(1) // the same text is not written again
	edit("interval: 45s", "intreval: 45s")
	diff(command.ExitFindings)
	expect(2, "Objects with an error are not compared.", "### Findings", "intreval: unknown field")
	edit("intreval: 45s", "interval: 30s")
	diff(command.ExitDone)
	expect(3, "**no difference**")
}

func TestCommentsThatCannotBeWritten(t *testing.T) {
	s, folder := newSite(t), filepath.Join("..", "..", "examples", "quickstart")
	code, _, errs := s.diff(t, "other", folder, filepath.Join(folder, "monitoring"))
	if code != command.ExitRepository || !strings.Contains(errs, "403") ||
		!strings.Contains(errs, "pull-requests: write") {
		t.Errorf("a token without rights: exit code %d\n%s", code, errs)
	}
	code, out, errs := s.diff(t, "", folder, folder)
	if code != command.ExitUsage || out != "" || !strings.Contains(errs, "FORGE_TOKEN") {
		t.Errorf("no token: exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = s.diff(t, "s3cret-t0ken", "--comment", s.URL+"/org/monitoring/issues/7", folder, folder)
	if code != command.ExitUsage || out != "" || !strings.Contains(errs, "is not the address of a pull request") {
		t.Errorf("no pull request: exit code %d\n%s%s", code, out, errs)
	}
}
