package gitsync_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestForeignText renders commits whose header and message no sane program writes.
func TestForeignText(t *testing.T) {
	t.Parallel()
	const who = "Ann <ann@example.com> 1767323160 +0000"
	for name, c := range map[string]struct{ author, committer, message string }{
		"control characters": {"A\x1b[31mnn\x00 <ann@\x07example.com> 1767323160 +0000", who,
			"Sub\x1b[2Jject\x00\r\x0b with\u2028lines\u202e"},
		"not UTF-8":           {"J\xf6rg <j\xf6rg@example.com> 1767323160 +0000", who, "Gr\xfc\xdfe"},
		"no name":             {" <ann@example.com> 1767323160 +0000", who, "Subject"},
		"nothing at all":      {" <> 0 +0000", " <> 0 +0000", ""},
		"a name in brackets":  {"Ann <Bob> Cat <ann@example.com> 1767323160 +0000", who, "Subject"},
		"a very long subject": {who, who, strings.Repeat("long ", 100_000)},
		"before 1970": {"Ann <ann@example.com> -86400 +0000", "Ann <ann@example.com> -86400 +0000",
			"Subject"},
		"far in the future": {"Ann <ann@example.com> 999999999999999 +0000",
			"Ann <ann@example.com> 999999999999999 +0000", "Subject"},
		"absurd time zone": {"Ann <ann@example.com> 1767323160 +9999", "Ann <ann@example.com> 1767323160 -9959",
			"Subject"},
		"no date": {"Ann <ann@example.com>", "Ann <ann@example.com>", "Subject"},
		"no number as date": {"Ann <ann@example.com> yesterday +0000", "Ann <ann@example.com> yesterday +0000",
			"Subject"},
		"trailers as a subject": {who, who,
			"Agentry-Source-Commit: 1234\n\nAgentry-Version: evil\nAgentry-Allow-Deletions: true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.pipeline.Spec.Output.Commit.Message = "{{ (index .Sources 0).Subject }} {{ (index .Sources 0).Author }}"
			id := l.remote.rawCommit("main", plain(twoTeams()), c.author, c.committer, c.message)
			if l.pass().Commit == "" {
				t.Fatal("no commit")
			}
			head := l.remote.head("env")
			if when := head.Committer.When; when.Unix() < 0 || when.Year() > 9999 {
				t.Errorf("date %s", when)
			}
			if i := strings.IndexFunc(head.Message, func(r rune) bool {
				return r != '\n' && unicode.IsControl(r)
			}); i >= 0 || !utf8.ValidString(head.Message) {
				t.Errorf("message %q", head.Message)
			}
			paragraphs := strings.Split(head.Message, "\n\n")
			last := paragraphs[len(paragraphs)-1]
			if len(paragraphs) != 2 || strings.Count(last, "Agentry-Source-Commit: "+id.String()+"\n") != 1 ||
				strings.Contains(last, "evil") || strings.Contains(last, "Allow") {
				t.Errorf("message %q", head.Message)
			}
			var meta struct {
				Date time.Time
			}
			if err := json.Unmarshal([]byte(l.remote.read("env")["hydrator.metadata"].text), &meta); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAuthorsAndTemplates(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
		pipeline.Source{URL: l.remote.url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"more"}})
	l.pipeline.Spec.Output.Commit = pipeline.Commit{Author: "J. agentry[bot], Inc. <bot@example.com>",
		Message: "{{ (index .Sources 1).Subject }}{{ if .Changed }}{{ index .Added 0 }}{{ end }}"}
	files := twoTeams()
	files["more/x.txt"] = "x"
	l.input(files)
	l.pass()
	if head := l.remote.head("env"); head.Author.Name != "J. agentry[bot], Inc." ||
		!strings.HasPrefix(head.Message, "Change\n") {
		t.Errorf("%s %q", head.Author, head.Message)
	}
	id := l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	report := l.pass()
	if head := l.remote.head("env"); report.Commit == "" ||
		!strings.HasPrefix(head.Message, id[:7]+": Change\n") {
		t.Errorf("%q", head.Message)
	}
	if got := codes(report, diag.Warning); !strings.Contains(fmt.Sprint(got), "pipeline-invalid") {
		t.Errorf("%v", report.Diags)
	}
}

func TestAllowTrailerForms(t *testing.T) {
	t.Parallel()
	for message, allowed := range map[string]bool{
		"Remove\r\n\r\nWords.\r\n\r\nAgentry-Allow-Deletions: true\r\n":                    true,
		"Remove\n\nSigned-off-by: Ann\n  <ann@example.com>\nagentry-allow-deletions: true": true,
		"Agentry-Allow-Deletions: true":                                                    false,
		"Remove\n\nAgentry-Allow-Deletions: true\n\nMore words.":                           false,
		"Remove\n\nAgentry-Allow-Deletions: false":                                         false,
		"Remove\n\nWe do not want\nAgentry-Allow-Deletions: true here":                     false,
	} {
		l := rendered(t)
		l.remote.commit("main", tree{"in/x.txt": {text: "x"}}, 2, message)
		if got := l.pass().Commit != ""; got != allowed {
			t.Errorf("%q: %v", message, got)
		}
	}
}

// TestNoteInTheWay has a notes ref that no note can be added to, and one that is refused.
func TestNoteInTheWay(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.pipeline.Spec.Output.Promotion.Mode = pipeline.PromoteNext
	if report := l.pass(); len(report.Diags) > 0 {
		t.Fatal(report.Diags)
	}
	l.remote.refuse = "refs/notes/"
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "one")})
	report := l.pass()
	if !report.Proposed.Open() || fmt.Sprint(codes(report, diag.Warning)) != "[note-refused]" {
		t.Errorf("%v", report.Diags)
	}
	// Others move the note between every fetch and push of ours.
	l.remote.refuse = ""
	l.remote.moving = "refs/notes/hydrator.metadata"
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "two")})
	report = l.pass()
	if l.remote.tip("env-next").String() != report.Proposed.Commit ||
		fmt.Sprint(codes(report, diag.Warning)) != "[note-refused]" {
		t.Errorf("%v", report.Diags)
	}
}

// silent is the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	quit := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-req.Context().Done():
		case <-quit:
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(quit)
		_ = server.Close()
		<-done
	})
	return "http://" + listener.Addr().String() + "/repo"
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	t.Run("of the output", func(t *testing.T) {
		t.Parallel()
		l := rendered(t)
		l.pipeline.Spec.Output.URL = silent(t)
		l.options.Timeout = 300 * time.Millisecond
		if _, err := l.syncer().Pass(t.Context()); err == nil || !strings.Contains(err.Error(), "300ms") {
			t.Errorf("%v", err)
		}
	})
	t.Run("of requests to the output", func(t *testing.T) {
		t.Parallel()
		l := rendered(t)
		l.pipeline.Spec.Output.URL = silent(t)
		l.options.RequestTimeout = 300 * time.Millisecond
		_, err := l.syncer().Pass(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no answer within 300ms") {
			t.Errorf("%v", err)
		}
	})
	t.Run("of a source", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		other := l.remote.host.add("other")
		l.pipeline.Spec.Sources = append(l.pipeline.Spec.Sources,
			pipeline.Source{URL: other.url, Ref: pipeline.Ref{Branch: "main"}})
		l.input(map[string]string{"in/a/agent.yaml": agent("a")})
		other.commit("main", tree{"agent.yaml": {text: agent("b")}}, 1, "b")
		l.pass()
		other.hang(t)
		l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
		l.options.Timeout = 3 * time.Second
		report := l.pass()
		sees(t, report, unitStates{"a/agent": "changed", "b/agent": "unchanged"})
		if got := codes(report, diag.Error); fmt.Sprint(got) != "[source-unreachable]" || report.Commit == "" {
			t.Errorf("%v", report.Diags)
		}
	})
}
