package chart

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// offer makes a server offer exactly these versions, and returns their pins.
func (s *server) publish(t *testing.T, versions ...string) map[string]Pin {
	t.Helper()
	pins, digests := map[string]Pin{}, map[string]string{}
	for _, v := range versions {
		archive := shop(t, v)
		pins[v], digests[v] = Pin{v, digestOf(archive)}, digestOf(archive)
		s.answers["/shop-"+v+".tgz"] = text(archive)
	}
	s.index(digests)
	return pins
}

// used returns what a build gets from a view.
func used(t *testing.T, e View, of Source) (Pin, string) {
	t.Helper()
	_, pin, err := e.Find(t.Context(), of)
	if err != nil {
		return pin, err.Error()
	}
	return pin, ""
}

func fetch(t *testing.T, e View, of Source) {
	t.Helper()
	if err := e.Fetch(t.Context(), Uses{of: {}}); err != nil {
		t.Fatal(err)
	}
}

func TestABookKeepsWhatIsPinned(t *testing.T) {
	s, store := newServer(t), newStore(t)
	pins := s.publish(t, "1.2.0", "1.3.0")
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	pinned := []Pinned{{of, pins["1.2.0"]}}
	for name, c := range map[string]struct {
		opts               VersionsOptions
		rendered, proposed []Pinned
		want               string
	}{
		"a new chart":                  {VersionsOptions{}, nil, nil, "1.3.0"},
		"one that is never looked up":  {VersionsOptions{}, pinned, nil, "1.2.0"},
		"one that is looked up":        {VersionsOptions{Update: time.Hour}, pinned, nil, "1.3.0"},
		"what is proposed comes first": {VersionsOptions{}, pinned, []Pinned{{of, pins["1.3.0"]}}, "1.3.0"},
		"a pin without a digest is none": {VersionsOptions{}, []Pinned{{of, Pin{"1.2.0", "../../etc/passwd"}}}, nil,
			"1.3.0"},
		"a query is no part of what it is": {VersionsOptions{}, []Pinned{{of.public(), pins["1.2.0"]}}, nil, "1.2.0"},
	} {
		c.opts.AllowPrivateAddresses = true
		b := NewVersions(store, c.opts)
		b.Begin(c.rendered, c.proposed, nil)
		asking := of
		if strings.HasPrefix(name, "a query") {
			asking.URL += "?token=s3cret"
		}
		fetch(t, b.Now(), asking)
		if pin, problem := used(t, b.Now(), asking); pin != pins[c.want] || problem != "" {
			t.Errorf("%s: got %v %s", name, pin, problem)
		}
		out := b.Pins(Uses{asking: {}}, false)
		if diff := cmp.Diff([]Pinned{{of, pins[c.want]}}, out); diff != "" {
			t.Errorf("%s: pins (-want +got):\n%s", name, diff)
		}
		if c.rendered != nil && c.want == "1.3.0" && c.rendered[0].Pin == pins["1.2.0"] {
			fetch(t, b.Now().Rendered(), of)
			if pin, problem := used(t, b.Now().Rendered(), of); pin != pins["1.2.0"] || problem != "" {
				t.Errorf("%s: what it was rendered from: got %v %s", name, pin, problem)
			}
		}
	}
}

// TestAPinIsNotChangedInSilence: another archive for a pinned version is not used, and a warning says so.
func TestAPinIsNotChangedInSilence(t *testing.T) {
	s, store := newServer(t), newStore(t)
	pins := s.publish(t, "1.2.0")
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	fetched := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true})
	fetch(t, fetched.Now(), of)
	forged := pack(t, helm.File{Name: "shop/Chart.yaml", Data: []byte("name: shop\nversion: 1.2.0\n# changed\n")})
	s.index(map[string]string{"1.2.0": digestOf(forged)})
	s.answers["/shop-1.2.0.tgz"] = text(forged)

	b := NewVersions(store, VersionsOptions{Update: time.Hour, AllowPrivateAddresses: true})
	b.Begin([]Pinned{{of, pins["1.2.0"]}}, nil, nil)
	fetch(t, b.Now(), of)
	if pin, problem := used(t, b.Now(), of); pin != pins["1.2.0"] || problem != "" {
		t.Errorf("got %v %s", pin, problem)
	}
	doubts := b.Warnings(Uses{of: {Pin: pins["1.2.0"]}})
	if len(doubts) != 1 || !doubts[0].IsChanged ||
		!strings.Contains(doubts[0].Reason, "a different archive for version 1.2.0") {
		t.Errorf("got %+v", doubts)
	}
	// A process without the cache cannot go on, and says why.
	b = NewVersions(newStore(t), VersionsOptions{AllowPrivateAddresses: true})
	b.Begin([]Pinned{{of, pins["1.2.0"]}}, nil, nil)
	fetch(t, b.Now(), of)
	if pin, problem := used(t, b.Now(), of); pin != (Pin{}) ||
		!strings.Contains(problem, "a different archive for version 1.2.0") {
		t.Errorf("got %v %s", pin, problem)
	}
}

// TestARepositoryThatIsAway: a pinned chart is rendered from the cache. The repository is asked again after a while,
// and not before.
func TestARepositoryThatIsAway(t *testing.T) {
	s := newServer(t)
	pins := s.publish(t, "1.2.0")
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	b := NewVersions(newStore(t), VersionsOptions{Update: time.Hour, AllowPrivateAddresses: true})
	clock := time.Now()
	b.now = func() time.Time { return clock }
	index := s.answers["/index.yaml"]
	uses := Uses{of: {}}
	for i, step := range []struct {
		after      time.Duration
		away       bool
		offers     string // besides 1.2.0
		asked      bool
		want, says string
		next       time.Duration
	}{
		{0, true, "", true, "", "503", retry},
		{retry / 2, false, "", false, "", "503", retry / 2},
		{retry / 2, false, "", true, "1.2.0", "", time.Hour},
		{time.Hour / 2, false, "1.3.0", false, "1.2.0", "", time.Hour / 2},
		{time.Hour / 2, true, "1.3.0", true, "1.2.0", "503", retry},
		{retry, false, "1.3.0", true, "1.3.0", "", time.Hour},
	} {
		clock = clock.Add(step.after)
		if step.offers != "" {
			pins = s.publish(t, "1.2.0", step.offers)
			index = s.answers["/index.yaml"]
		}
		if s.answers["/index.yaml"] = index; step.away {
			s.answers["/index.yaml"] = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		s.asked = nil
		fetch(t, b.Now(), of)
		b.End(uses)
		pin, problem := used(t, b.Now(), of)
		for _, d := range b.Warnings(uses) {
			problem += d.Reason
		}
		if pin != pins[step.want] || (problem == "") != (step.says == "") || !strings.Contains(problem, step.says) ||
			(len(s.asked) > 0) != step.asked {
			t.Errorf("step %d: got %v %q, asked %v", i, pin, problem, s.asked)
		}
		if next := b.Next().Sub(clock); next != step.next {
			t.Errorf("step %d: the next lookup is in %s", i, next)
		}
		noting, got := (&Renderer{Charts: b.Now()}).Recording()
		_, err := noting.Fetch(t.Context(), of)
		if !b.Now().IsCurrent(got) || b.Now().IsCurrent(uses) || (err == nil) != (pin != Pin{}) {
			t.Errorf("step %d: whether what was found holds: %+v, %v", i, got, err)
		}
	}
}

// TestWhatWasFetchedLastIsFoundOffline, in the version that a range meant then.
func TestWhatWasFetchedLastIsFoundOffline(t *testing.T) {
	s, store := newServer(t), newStore(t)
	pins := s.publish(t, "1.2.0", "1.3.0")
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	online := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true})
	fetch(t, online.Now(), of)
	s.Close()
	offline := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true, OnlyCached: true})
	if pin, missing := used(t, offline.Now(), of); pin != pins["1.3.0"] || missing != "" {
		t.Errorf("got %v, %s", pin, missing)
	}
	offline.Begin([]Pinned{{of, pins["1.2.0"]}}, nil, nil)
	if pin, missing := used(t, offline.Now(), of); pin != (Pin{}) || !strings.Contains(missing,
		"its version 1.2.0: it is not in the cache, and nothing is fetched") {
		t.Errorf("what is pinned, and is not there: %v, %s", pin, missing)
	}
	of.Version = "2.x"
	if pin, missing := used(t, offline.Now(), of); pin != (Pin{}) || !strings.Contains(missing,
		"it is not in the cache") {
		t.Errorf("another range: %v, %s", pin, missing)
	}
}

// TestWhatWasPinnedIsFoundOffline, if another source had put its archive into the cache.
func TestWhatWasPinnedIsFoundOffline(t *testing.T) {
	s, store := newServer(t), newStore(t)
	pins := s.publish(t, "1.2.0", "1.3.0")
	of := Source{URL: s.URL, Name: "shop", Version: "1.x"}
	exact := Source{URL: s.URL, Name: "shop", Version: "1.2.0"}
	online := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true})
	online.Begin([]Pinned{{of, pins["1.2.0"]}}, nil, nil)
	fetch(t, online.Now(), exact)
	if pin, missing := used(t, online.Live(), of); pin != pins["1.2.0"] {
		t.Fatal(pin, missing)
	}
	s.Close()
	offline := NewVersions(store, VersionsOptions{AllowPrivateAddresses: true, OnlyCached: true})
	if pin, missing := used(t, offline.Now(), of); pin != pins["1.2.0"] || missing != "" {
		t.Errorf("got %v, %s", pin, missing)
	}
}

func TestOnlyRepositoriesThatAreNamedCanBePrivate(t *testing.T) {
	s := newServer(t)
	s.publish(t, "1.0.0")
	of := Source{URL: s.URL, Name: "shop"}
	named := func(url string) []Repository { return []Repository{{url, robot()}} }
	for name, c := range map[string]struct {
		opts VersionsOptions
		want string
		as   string
	}{
		"a stranger":        {VersionsOptions{}, "its address is not public", ""},
		"one that is named": {VersionsOptions{Repositories: named(s.URL)}, "", " robots3cret"},
		"its host":          {VersionsOptions{Repositories: named(s.URL + "/")}, "", " robots3cret"},
		"another folder":    {VersionsOptions{Repositories: named(s.URL + "/other")}, "its address is not public", ""},
		"another host": {VersionsOptions{Repositories: named("https://charts.example.com"),
			AllowPrivateAddresses: true}, "", ""},
	} {
		s.asked = nil
		b := NewVersions(newStore(t), c.opts)
		fetch(t, b.Now(), of)
		if _, problem := used(t, b.Now(), of); (problem == "") != (c.want == "") || !strings.Contains(problem, c.want) {
			t.Errorf("%s: got %q", name, problem)
		}
		for _, asked := range s.asked {
			if !strings.HasSuffix(asked, c.as) || c.as == "" && strings.Contains(asked, "robot") {
				t.Errorf("%s: asked %q", name, asked)
			}
		}
	}
	if r := named("https://charts.example.com/team"); !r[0].covers(Source{URL: "https://charts.example.com/team/a"}) ||
		r[0].covers(Source{URL: "https://charts.example.com/team/../other"}) ||
		r[0].covers(Source{URL: "https://charts.example.com/teams"}) {
		t.Error("a credential is used for other folders")
	}
}

// TestANewVersionThatCannotBeHad: a registry lists a version, and gives other bytes. The pinned one stays in use.
func TestANewVersionThatCannotBeHad(t *testing.T) {
	s, of := hub(t)
	push(t, s, of, "1.2.0", shop(t, "1.2.0"))
	lies, inner := false, s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if lies && strings.Contains(req.URL.Path, "/blobs/") && req.Header.Get("Authorization") != "" {
			_, _ = w.Write([]byte("another")) // the client may stop reading
			return
		}
		inner.ServeHTTP(w, req)
	})
	b := NewVersions(newStore(t), VersionsOptions{Update: time.Hour, Repositories: []Repository{{of.URL, of.Access}}})
	clock := time.Now()
	b.now = func() time.Time { return clock }
	of.Version = "1.x"
	fetch(t, b.Now(), of.Source)
	push(t, s, of, "1.3.0", shop(t, "1.3.0"))
	lies, clock = true, clock.Add(time.Hour)
	fetch(t, b.Now(), of.Source)
	pin, problem := used(t, b.Now(), of.Source)
	if doubts := b.Warnings(Uses{of.Source: {Pin: pin}}); pin.Version != "1.2.0" || problem != "" || len(doubts) != 1 ||
		doubts[0].IsChanged {
		t.Errorf("got %v %q, %v", pin, problem, doubts)
	}
}

// TestAFaultIsOfItsChart: a panic during the fetch of a chart does not end the process.
func TestAFaultIsOfItsChart(t *testing.T) {
	store := newStore(t)
	store.lookup = func(context.Context, string, string) ([]netip.Addr, error) { panic("s3cret") }
	b := NewVersions(store, VersionsOptions{})
	of := Source{URL: "https://charts.example.com", Name: "shop"}
	fetch(t, b.Now(), of)
	if _, problem := used(t, b.Now(), of); !strings.Contains(problem, "a bug in agentry") ||
		strings.Contains(problem, "s3cret") {
		t.Errorf("got %q", problem)
	}
}

// TestASlowRepositoryDelaysNoOther: only its own charts wait for its answer.
func TestASlowRepositoryDelaysNoOther(t *testing.T) {
	slow, s := newServer(t), newServer(t)
	slow.answers["/index.yaml"] = func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }
	s.publish(t, "1.0.0")
	b := NewVersions(newStore(t), VersionsOptions{AllowPrivateAddresses: true})
	waiting := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		waiting <- b.Now().Fetch(ctx, Uses{{URL: slow.URL, Name: "shop"}: {}})
	}()
	for asked := 0; asked == 0; time.Sleep(time.Millisecond) {
		slow.mu.Lock()
		asked = len(slow.asked)
		slow.mu.Unlock()
	}
	fetch(t, b.Now(), Source{URL: s.URL, Name: "shop"})
	select {
	case <-waiting:
		t.Error("the other one waits for it")
	default:
	}
	stop()
	<-waiting
}

// TestTheCacheIsBounded: the least recently used files are removed first, and so are those of a process that has died.
func TestTheCacheIsBounded(t *testing.T) {
	s := newServer(t)
	store := newStore(t)
	of := func(version string) Request {
		return Request{Source: Source{URL: s.URL, Name: "shop", Version: version}}
	}
	versions := []string{"1.0.0", "2.0.0", "3.0.0", "4.0.0"}
	pins := s.publish(t, versions...)
	store.opts.MaxBytes = 3*int64(len(shop(t, "1.0.0"))) + 20
	use := func(version string) {
		t.Helper()
		if _, err := get(t.Context(), store, of(version), pins[version]); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range versions[:3] {
		use(v)
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(store.file(of(v), pins[v]), used, used); err != nil {
			t.Fatal(err)
		}
	}
	use("1.0.0") // the oldest is used again
	left, own := filepath.Join(store.opts.Folder, temporary+"1"), filepath.Join(store.opts.Folder, "README")
	old := time.Now().Add(-2 * abandonedAfter)
	for _, name := range []string{left, own} {
		if err := errors.Join(os.WriteFile(name, []byte("x"), 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	use("4.0.0")
	for version, want := range map[string]bool{"1.0.0": true, "2.0.0": false, "3.0.0": true, "4.0.0": true} {
		if store.Has(of(version), pins[version]) != want {
			t.Errorf("%s is kept: %v", version, !want)
		}
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a temporary file stays for ever")
	}
	if _, err := os.Stat(own); err != nil {
		t.Error("a file of somebody else is gone")
	}
}

// TestProcessesShareACache: stores fetch and prune at the same time without errors.
func TestProcessesShareACache(t *testing.T) {
	s := newServer(t)
	versions := []string{"1.0.0", "2.0.0", "3.0.0"}
	pins := s.publish(t, versions...)
	dir := t.TempDir()
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			store := NewStore(Options{Folder: dir, MaxBytes: 1})
			for n := range 20 {
				v := versions[(i+n)%len(versions)]
				if err := store.Fetch(context.Background(), Request{Source: Source{URL: s.URL, Name: "shop"}},
					pins[v]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
}
