package fleet_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/test/gittest"
)

// patience is how long something may take that must happen.
const patience = 2 * time.Minute

// host is a repository behind a server that counts what it is asked, and can fail.
type host struct {
	*gittest.Repo
	url      string
	listings atomic.Int32 // questions for refs, to read
	down     atomic.Bool
}

func newHost(t *testing.T) *host {
	h := &host{Repo: gittest.NewRepo(t)}
	h.url, _ = h.ServeHTTP(gittest.HTTPOptions{Wrap: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h.down.Load() {
				http.Error(w, "closed for repairs", http.StatusServiceUnavailable)
				return
			}
			if r.URL.Query().Get("service") == "git-upload-pack" {
				h.listings.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	}})
	return h
}

// address is what triggers call it.
func (h *host) address() string { return pipeline.RepositoryAddress(h.url) }

// input is a GrafanaAgent that writes to a tenant.
func input(namespace, tenant string) string {
	return fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: %[1]s}
spec:
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: %[1]s}
spec:
  remoteWrite: [{url: "http://mimir/%[2]s"}]
`, namespace, tenant)
}

func runner(name, url string) fleet.Definition {
	d := fleet.Definition{Origin: name + ".yaml:1", Credentials: func() (gitsync.Credentials, error) {
		return gitsync.Credentials{Sources: make([]transport.Auth, 1)}, nil
	}}
	d.APIVersion, d.Kind, d.Metadata.Name = pipeline.APIVersion, pipeline.Kind, name
	d.Spec.Sources = []pipeline.Source{{URL: url, Ref: pipeline.Ref{Branch: "main"}, Paths: []string{"in/" + name}}}
	d.Spec.Output.Branch = "env/" + name
	d.Default()
	return d
}

// outcomes is an observer that hands on what it is told.
type outcomes chan fleet.Outcome

func (o outcomes) Passed(_ context.Context, outcome fleet.Outcome) { o <- outcome }

// passes waits for a number of passes, of pipelines by name.
func (o outcomes) passes(t *testing.T, n int) map[string]fleet.Outcome {
	t.Helper()
	got := map[string]fleet.Outcome{}
	deadline := time.After(patience)
	for len(got) < n {
		select {
		case outcome := <-o:
			if outcome.Err != nil {
				t.Fatalf("%s: %v", outcome.Definition.Metadata.Name, outcome.Err)
			}
			if outcome.IsPass() {
				got[outcome.Definition.Metadata.Name] = outcome
			}
		case <-deadline:
			t.Fatalf("%d passes of %d", len(got), n)
		}
	}
	return got
}

// until waits for an outcome.
func (o outcomes) until(t *testing.T, what string, is func(fleet.Outcome) bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case outcome := <-o:
			if is(outcome) {
				return
			}
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// start runs a fleet, which ends with the test and leaves nothing behind.
func start(t *testing.T, cache string, defs ...fleet.Definition) (*fleet.Fleet, outcomes) {
	before := runtime.NumGoroutine()
	seen := make(outcomes, 1000)
	f := fleet.New(fleet.Options{CacheDir: cache, Version: "v0.0.0-test", MinGap: time.Millisecond,
		Observers: []fleet.Observer{seen}})
	f.Set(defs, nil)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		noLeak(t, before)
	})
	return f, seen
}

// noLeak waits until no more goroutines of the fleet run.
func noLeak(t *testing.T, before int) {
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	text := string(stacks[:runtime.Stack(stacks, true)])
	if strings.Contains(text, "agentry/gitsync") {
		t.Errorf("goroutines are left:\n%s", text)
	}
}

func TestAFleetOnTwoRemotes(t *testing.T) {
	a, b := newHost(t), newHost(t)
	hosts := map[string]*host{}
	var defs []fleet.Definition
	for i := range 20 {
		name, h := fmt.Sprintf("p%02d", i), a
		if i%2 == 1 {
			h = b
		}
		h.Commit("main", map[string]string{"in/" + name + "/agent.yaml": input(name, "first")})
		hosts[name] = h
		defs = append(defs, runner(name, h.url))
	}
	cache := t.TempDir()
	f, seen := start(t, cache, defs...)
	config := func(name string) string {
		return hosts[name].Git("show", "env/"+name+":"+name+"/agent/agent-config.secret.yaml")
	}

	for name, o := range seen.passes(t, 20) {
		if o.Report.Commit == "" || hosts[name].Head("env/"+name) != o.Report.Commit {
			t.Errorf("%s: %q was pushed", name, o.Report.Commit)
		}
	}
	if listed := a.listings.Load(); listed != 1 {
		t.Errorf("the start took %d listings", listed)
	}

	cached, known := f.Caches("p01")
	if !known || len(cached) != 1 || !cached[0].Has(plumbing.NewHash(b.Head("env/p01"))) {
		t.Errorf("the cache of p01: %d readers, %t", len(cached), known)
	}
	for _, rd := range cached {
		rd.Close()
	}
	if _, known := f.Caches("nobody"); known {
		t.Error("a pipeline that is not there has a cache")
	}

	a.listings.Store(0)
	b.listings.Store(0)
	if n := f.Trigger(fleet.Trigger{Reason: fleet.ReasonAPI, Token: "all"}); n != 20 {
		t.Errorf("reached %d", n)
	}
	for name, o := range seen.passes(t, 20) {
		if o.Report.Commit != "" || o.After.LastHandledReconcileAt != "all" ||
			o.After.Condition("Ready").Reason != "Succeeded" {
			t.Errorf("%s: %+v", name, o.After)
		}
	}
	if a.listings.Load() != 1 || b.listings.Load() != 1 {
		t.Errorf("a round took %d and %d listings", a.listings.Load(), b.listings.Load())
	}

	a.Commit("main", map[string]string{"in/p04/agent.yaml": input("p04", "changed")})
	f.Trigger(fleet.Trigger{Repository: a.address(), Reason: fleet.ReasonWebhook})
	for name, o := range seen.passes(t, 10) {
		if (o.Report.Commit != "") != (name == "p04") || o.Trigger != fleet.ReasonWebhook {
			t.Errorf("%s: pushed %q for %s: %v", name, o.Report.Commit, o.Trigger, o.Report.Diags)
		}
	}
	if n := a.listings.Load(); n != 2 {
		t.Errorf("a change took %d listings", n-1)
	}

	b.down.Store(true)
	f.Trigger(fleet.Trigger{Repository: b.address()})
	a.Commit("main", map[string]string{"in/p06/agent.yaml": input("p06", "changed")})
	f.Trigger(fleet.Trigger{Repository: a.address()})
	if o := seen.passes(t, 10)["p06"]; o.Report.Commit == "" {
		t.Error("one remote that is down stops the other")
	}
	// Its outcome may have come among the passes above, so the state is asked for.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if p, _ := f.Pipeline("p01"); p.Condition("Ready").Reason == "Failed" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a pipeline of the remote that is down is ready")
		}
	}
	b.down.Store(false)
	b.Commit("main", map[string]string{"in/p01/agent.yaml": input("p01", "changed")})
	f.Trigger(fleet.Trigger{Repository: b.address()})
	seen.until(t, "a remote that is back is caught up with", func(o fleet.Outcome) bool {
		return o.After.Name == "p01" && o.IsPass() && o.Report.Commit != ""
	})

	gone := config("p08")
	a.Git("update-ref", "-d", "refs/heads/env/p08")
	f.Trigger(fleet.Trigger{Repository: a.address()})
	seen.until(t, "a deleted branch is made again", func(o fleet.Outcome) bool {
		return o.After.Name == "p08" && o.IsPass() && o.Report.Commit != ""
	})
	if text := config("p08"); text != gone {
		t.Errorf("the branch that was made again has\n%s", text)
	}

	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	a.Commit("main", map[string]string{"in/p10/agent.yaml": input("p10", "last")})
	f.Trigger(fleet.Trigger{Repository: a.address()})
	seen.until(t, "the fleet goes on without its cache", func(o fleet.Outcome) bool {
		return o.After.Name == "p10" && o.IsPass() && o.Report != nil && o.Report.Commit != ""
	})
	if text := config("p10"); !strings.Contains(text, "last") {
		t.Errorf("the output lacks the change:\n%s", text)
	}
}

func TestForEachOfRealFolders(t *testing.T) {
	h := newHost(t)
	h.Commit("main", map[string]string{"in/eu/agent.yaml": input("eu", "first"),
		"in/us/agent.yaml": input("us", "first"), "in/README.md": "not a folder", "x/in/no/agent.yaml": "!"})
	each := runner("each", h.url)
	each.Spec.ForEach = "in/*"
	each.Expand = func(folders []string) (out []fleet.Definition, _ diag.List) {
		for _, folder := range folders {
			out = append(out, runner(strings.TrimPrefix(folder, "in/"), h.url))
		}
		return out, nil
	}
	f, seen := start(t, t.TempDir(), each)
	got := seen.passes(t, 3)
	if got["eu"].Report.Commit == "" || got["us"].Report.Commit == "" {
		t.Errorf("%v", got)
	}
	head := h.Commit("main", map[string]string{"in/us/agent.yaml": ""})
	f.Trigger(fleet.Trigger{Repository: h.address()})
	seen.until(t, "the folder that is gone stops its pipeline", func(o fleet.Outcome) bool {
		return o.Removed && o.After.Name == "us"
	})
	if !h.Has("refs/heads/env/us") {
		t.Error("its branch is gone")
	}
	s, _ := f.Pipeline("each")
	if len(f.Status()) != 2 || len(s.Pipelines) != 1 || head == "" {
		t.Errorf("%+v", s)
	}
}
