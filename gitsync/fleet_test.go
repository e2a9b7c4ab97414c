package gitsync_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/test/gittest"
)

// served is a lab whose repository is reached over http, with a password that may change.
type served struct {
	*lab
	password atomic.Value
	requests atomic.Int32
	meets    func(*http.Request) // of each request; nil: nobody
}

func newServed(t *testing.T) *served {
	s := &served{lab: newGitLab(t)}
	s.password.Store("one")
	url, _ := s.repo.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			s.requests.Add(1)
			if s.meets != nil {
				s.meets(req)
			}
			if _, password, _ := req.BasicAuth(); password != s.password.Load() {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, req)
		})
	}})
	s.pipeline.Spec.Sources[0].URL = url
	s.creds = s.as("one")
	return s
}

// as are credentials of which only the password is another one, as in a file that is rotated.
func (s *served) as(password string) gitsync.Credentials {
	auth := transport.Auth{Password: password, Identity: "/etc/agentry/password"}
	return gitsync.Credentials{Sources: []transport.Auth{auth}, Output: auth}
}

func (s *served) asked(what string, want int32) {
	s.t.Helper()
	if got := s.requests.Swap(0); got != want {
		s.t.Errorf("%s: %d requests, want %d", what, got, want)
	}
}

// TestNothingMoved costs one listing for all pipelines of a round together.
func TestNothingMoved(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.input(twoTeams())
	s.options.Pool = repo.NewPool(t.TempDir(), repo.Options{})
	t.Cleanup(s.options.Pool.Close)
	var fleet []*gitsync.Syncer
	for i := range 5 {
		s.pipeline.Metadata.Name = fmt.Sprint("p", i)
		s.pipeline.Spec.Output.Branch = fmt.Sprint("env", i)
		fleet = append(fleet, s.syncer())
	}
	round := func() {
		t.Helper()
		since := time.Now()
		for _, syncer := range fleet {
			if _, err := syncer.PassSince(context.Background(), since); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	round() // learns that there is nothing to do
	s.requests.Store(0)
	round()
	s.asked("a round in which nothing has moved", 1)

	// One change of the input is fetched once, and pushed by each.
	s.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	round()
	const push = 2 // refs, and the pack
	s.asked("a round with a change", 2+5*push)
}

func TestRefsOfAPipeline(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.pipeline.Spec.Sources = append(s.pipeline.Spec.Sources,
		pipeline.Source{URL: s.pipeline.Spec.Sources[0].URL + "/", Ref: pipeline.Ref{Tag: "v1"}, Paths: []string{"x"}},
		pipeline.Source{URL: s.pipeline.Spec.Sources[0].URL, Ref: pipeline.Ref{Commit: strings.Repeat("1", 40)},
			Paths: []string{"y"}},
		pipeline.Source{URL: "https://example.com/other", Ref: pipeline.Ref{SemVer: ">=1"}, Paths: []string{"z"}})
	auth := s.creds.Sources[0]
	s.creds.Sources = []transport.Auth{auth, auth, auth, {}}
	got := map[string][]string{}
	for _, r := range s.syncer().Refs() {
		for _, ref := range r.Refs {
			if !ref.Optional {
				t.Errorf("%s is not optional", ref)
			}
			got[r.Repo.URL()] = append(got[r.Repo.URL()], ref.String())
		}
	}
	want := fmt.Sprint(map[string][]string{
		strings.TrimSuffix(s.pipeline.Spec.Sources[0].URL, ".git"): {"branch main", "tag v1", "ref refs/heads/env"},
		"https://example.com/other":                                {"tag in range >=1"},
	})
	if fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestCredentialsThatRotate while a process runs: the next pass has the new ones, and the
// cache and what was read stay.
func TestCredentialsThatRotate(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	s.input(twoTeams())
	syncer := s.syncer()
	s.passOf(syncer)
	s.password.Store("two")
	if _, err := syncer.Pass(context.Background()); !errors.Is(err, transport.ErrAuth) {
		t.Errorf("got %v", err)
	}
	if err := syncer.SetCredentials(s.as("two")); err != nil {
		t.Fatal(err)
	}
	s.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "metrics")})
	s.requests.Store(0)
	report := s.passOf(syncer)
	if report.Commit == "" {
		t.Errorf("nothing was pushed: %v", report.Diags)
	}
	s.asked("a change, fetched and pushed", 4)

	// What is the same changes nothing; what cannot be leaves the old ones in use.
	if err := syncer.SetCredentials(s.as("two")); err != nil {
		t.Fatal(err)
	}
	bad := s.as("three")
	bad.Output.BearerToken = "too"
	for _, creds := range []gitsync.Credentials{{Sources: make([]transport.Auth, 2)}, bad,
		{Sources: s.creds.Sources, Signing: signature.Key{Key: []byte("no key")}}} {
		if err := syncer.SetCredentials(creds); err == nil {
			t.Errorf("%v are credentials", len(creds.Sources))
		}
	}
	if report := s.passOf(syncer); report.Diags.HasErrors() {
		t.Errorf("%v", report.Diags)
	}

	// Another identity is another cache.
	if err := syncer.SetCredentials(gitsync.Credentials{Sources: []transport.Auth{{Password: "two", Identity: "other"}},
		Output: transport.Auth{Password: "two"}}); err != nil {
		t.Fatal(err)
	}
	s.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "http")})
	if report := s.passOf(syncer); report.Commit == "" {
		t.Errorf("nothing was pushed: %v", report.Diags)
	}
}

// TestTheGateIsOpenForTheNetwork: a pass holds it while it computes, gives it back, and holds
// it at no request.
func TestTheGateIsOpenForTheNetwork(t *testing.T) {
	t.Parallel()
	s := newServed(t)
	var held, entered atomic.Int32
	s.options.Gate = func(context.Context) (func(), error) {
		entered.Add(1)
		held.Add(1)
		return func() { held.Add(-1) }, nil
	}
	s.meets = func(req *http.Request) {
		if held.Load() != 0 {
			t.Errorf("it is held at %s %s", req.Method, req.URL)
		}
	}
	s.input(twoTeams())
	syncer := s.syncer()
	s.passOf(syncer)
	s.input(map[string]string{"in/a/web.yaml": bad("a")}) // asks for the base
	s.options.CacheDir = t.TempDir()
	s.passOf(s.syncer())
	if entered.Load() < 2 || held.Load() != 0 {
		t.Errorf("entered %d times, held %d times still", entered.Load(), held.Load())
	}

	// Who waits in vain does not pass, and tells why.
	closed := errors.New("closed")
	s.options.Gate = func(context.Context) (func(), error) { return nil, closed }
	s.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "other")})
	if _, err := s.syncer().Pass(context.Background()); !errors.Is(err, closed) {
		t.Errorf("got %v", err)
	}
}

func TestCachesAreMeasuredAndCanBeDropped(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.options.KeepBytes = 0
	l.input(twoTeams())
	s := l.syncer()
	if s.Size() != 0 {
		t.Errorf("a syncer that has done nothing keeps %d bytes", s.Size())
	}
	l.passOf(s)
	small := s.Size()
	l.input(map[string]string{"in/a/large.yaml": monitor("a", "large", "http") + "# " + strings.Repeat("x", 1<<20)})
	l.passOf(s)
	if small < 1000 || s.Size() < small+1<<20 {
		t.Errorf("%d bytes are kept, and %d with a megabyte more", small, s.Size())
	}
	l.options.KeepBytes = 1
	s = l.syncer()
	if l.passOf(s); s.Size() > small {
		t.Errorf("%d bytes are kept of objects that can be read again, and %d of small ones", s.Size(), small)
	}
	tip := l.remote.tip("env")
	s.Forget()
	if s.Size() != 0 {
		t.Errorf("%d bytes are kept still", s.Size())
	}
	if report := l.passOf(s); l.remote.tip("env") != tip || len(report.Diags) > 0 {
		t.Errorf("the pass after it has done something: %v", report.Diags)
	}
	l.input(map[string]string{"in/a/web.yaml": bad("a")})
	s.Forget()
	if got := codes(l.passOf(s), diag.Error); len(got) == 0 || len(l.payload("a/agent")) == 0 {
		t.Errorf("errors %v", got)
	}
}
