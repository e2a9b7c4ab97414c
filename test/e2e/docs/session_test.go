package docs

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
	"github.com/agentry-dev/agentry/test/e2e/harness/page"
)

// session is somebody at a terminal, or at two of them where a service runs in one.
type session struct {
	*harness.Shell
	t     *testing.T
	forge *gitops.Forge
	// traces are counted where pages have a collector.
	traces traces
	// places of pages that are elsewhere here.
	places *strings.Replacer
	// stop ends the service that runs.
	stop func()
}

// newSession is in an empty folder. git.example.com has an empty repository.
func newSession(t *testing.T) *session {
	t.Helper()
	dir := t.TempDir()
	s := &session{t: t, Shell: cluster.NewShell(t, dir), forge: gitops.NewForge(t),
		places: strings.NewReplacer("/tmp/", dir+"/", "/var/lib/node_exporter", dir)}
	s.Env = append(s.Env, harness.Internet(t, map[string]http.Handler{
		"git.example.com": s.forge, "collector": &s.traces,
		"agentry.example.com": httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:9292"}),
	})...)
	s.Env = append(s.Env, "XDG_CACHE_HOME=", "GIT_TOKEN="+gitops.Password("git"),
		"GOFLAGS=-buildvcs=false -trimpath", "GOPROXY=off")
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		s.Env = append(s.Env, name+"="+strings.TrimSpace(string(out)))
	}
	s.stop = func() {}
	return s
}

// service matches the lines that start something that does not end.
var service = regexp.MustCompile(`^(?:[A-Z_]+=\S+ )?(agentry serve|sd-aggregator)\b.*`)

// enter types a block, and returns what its commands print.
func (s *session) enter(b page.Block) string {
	s.t.Helper()
	var said, script strings.Builder
	flush := func() {
		if script.Len() > 0 {
			said.WriteString(s.script(b, script.String()))
			script.Reset()
		}
	}
	for line := range strings.Lines(s.places.Replace(b.Text)) {
		if service.MatchString(line) {
			flush()
			s.start(b, line)
			continue
		}
		script.WriteString(line)
	}
	flush()
	return said.String()
}

var failing = regexp.MustCompile(`(?m)^(.*\S)\s+# exits ([1-9]).*$`)

// script runs commands, each of which must go well, but those with a comment "exits N".
func (s *session) script(b page.Block, text string) string {
	s.t.Helper()
	text = failing.ReplaceAllString(text, "code=0; $1 || code=$$?; [ $$code = $2 ]")
	out, complaints, code := s.Type(text)
	if code != 0 {
		s.t.Fatalf("%s: exit code %d of\n%s%s", b, code, text, end(out+complaints))
	}
	return out + complaints
}

// start runs a service until the page ends or starts another one, and waits until it is ready.
func (s *session) start(b page.Block, line string) {
	s.t.Helper()
	s.stop()
	background := s.Start(line)
	s.stop = background.Stop
	ready := "http://127.0.0.1:9393/readyz"
	if strings.Contains(line, "sd-aggregator") {
		ready = "http://127.0.0.1:8081/readyz"
	}
	harness.Eventually(s.t, fmt.Sprintf("%s: %s", b, strings.TrimSpace(line)), func() error {
		_, err := get(ready)
		if err == nil {
			return nil
		}
		text, _ := os.ReadFile(background.Log)
		select {
		case <-background.Exited:
			s.t.Fatalf("%s: %s: it has ended\n%s", b, strings.TrimSpace(line), end(string(text)))
		default:
		}
		return fmt.Errorf("%w\n%s", err, end(string(text)))
	})
}

// end is what matters of what a command says.
func end(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-11):], "")
}
