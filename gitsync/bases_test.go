package gitsync_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/test/gittest"
)

// baseLab has team a, whose monitor is in another repository, and team b.
type baseLab struct {
	*lab
	lib    *gittest.Repo
	server *gittest.HTTPServer
	isAway *atomic.Bool
	// asked are the requests that the server gets, with the user of each.
	asked chan string
}

func newBaseLab(t *testing.T, options gittest.HTTPOptions) *baseLab {
	t.Helper()
	r := &baseLab{lab: newGitLab(t), isAway: &atomic.Bool{}, asked: make(chan string, 1000)}
	dir := filepath.Join(t.TempDir(), "org")
	r.lib = gittest.NewRepoAt(t, filepath.Join(dir, "lib.git"))
	options.Wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			user, _, _ := req.BasicAuth()
			r.asked <- user + "@" + req.URL.Path
			if r.isAway.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
	r.server = gittest.NewHTTP(t, filepath.Dir(dir), options)
	r.base("first")
	r.pipeline.Spec.Build.Remotes = []pipeline.Remote{{URL: r.server.URL + "/org"}}
	r.pipeline.Spec.Charts.Update = "never"
	r.creds.Bases = make([]gitsync.Base, 1)
	r.input(r.built(r.server.URL + "/org/lib.git//base?ref=main"))
	return r
}

// built names an entry in the kustomization of team a.
func (r *baseLab) built(entry string) map[string]string {
	return map[string]string{"in/a/agent.yaml": r.agent(),
		"in/a/kustomization.yaml": "namespace: a\nresources: [agent.yaml, '" + entry + "']\n",
		"in/b/agent.yaml":         agent("b"), "in/b/web.yaml": monitor("b", "web", "http")}
}

func (*baseLab) agent() string { return strings.ReplaceAll(agent("a"), ", namespace: a", "") }

// TestAChangeOfThePipelineHolds: a root that the same files gave before, and that the pipeline does not allow any more,
// holds its objects.
func TestAChangeOfThePipelineHolds(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	if report := r.pass(); report.Commit == "" {
		t.Fatalf("%v", report.Diags)
	}
	before := r.payload("a/agent")
	r.pipeline.Spec.Build.Remotes[0].URL = r.server.URL + "/other"
	for _, what := range []string{"the same commit", "a later one"} {
		report := r.pass()
		if got := r.payload("a/agent"); len(got) == 0 || !maps.Equal(got, before) || !report.Diags.HasErrors() {
			t.Errorf("%s: the folder of the unit is\n%s\nwas\n%s\n%v", what, got, before, report.Diags)
		}
		r.edit("later")
	}
	if got := r.file("b/agent/agent-config.secret.yaml"); !strings.Contains(got, "later") {
		t.Errorf("the other team is not rendered:\n%s", got)
	}
}

// edit commits a change of both teams.
func (r *baseLab) edit(port string) {
	r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", port),
		"in/a/agent.yaml": r.agent() + "# " + port + "\n"})
}

// base commits a monitor of a port to the other repository.
func (r *baseLab) base(port string) string {
	return r.lib.Commit("main", map[string]string{"base/kustomization.yaml": "resources: [web.yaml]\n",
		"base/web.yaml": strings.ReplaceAll(monitor("x", "web", port), ", namespace: x", "")})
}

// fresh is the lab of a process with an empty cache.
func (r *baseLab) fresh() *baseLab {
	one, two := *r, *r.lab
	one.lab = &two
	one.options.CacheDir = r.t.TempDir()
	return &one
}

// port is what the agent of team a scrapes.
func (r *baseLab) port() string {
	r.t.Helper()
	const file = "a/agent/agent-config.secret.yaml"
	if !r.repo.Has("env:" + file) {
		return ""
	}
	_, after, _ := strings.Cut(r.file(file), "__meta_kubernetes_endpoint_port_name")
	_, after, _ = strings.Cut(after, "regex: ")
	port, _, _ := strings.Cut(after, "\n")
	return port
}

// pins are those in the inventory.
func (r *baseLab) pins() (out []string) {
	r.t.Helper()
	var bases branch.Bases
	if err := json.Unmarshal([]byte(r.file(branch.MetadataFile)), &bases); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range bases.Charts {
		at := strings.TrimPrefix(p.URL, r.server.URL)
		out = append(out, fmt.Sprint(p.Kind, " ", at, " ", p.Version, " ", p.Pin.Version))
	}
	return out
}

// want fails unless the output has a port and pins, and a pass found these codes.
func (r *baseLab) want(step string, report *gitsync.Report, port string, pins []string, findings ...string) {
	r.t.Helper()
	var got []string
	for _, d := range report.Diags {
		got = append(got, string(d.Code))
	}
	if !slices.Equal(got, findings) {
		r.t.Errorf("%s: %v", step, report.Diags)
	}
	if diff := cmp.Diff(append([]string{port}, pins...), append([]string{r.port()}, r.pins()...)); diff != "" {
		r.t.Errorf("%s: %v (-want +got):\n%s", step, report.Diags, diff)
	}
}

// TestFetchedBasesArePinned: the inventory says which commit is used, until it is time to look the ref up again.
func TestFetchedBasesArePinned(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	first := []string{"git /org/lib.git main " + r.lib.Head("main")}
	r.want("the first", r.pass(), "first", first)
	tree := r.repo.Git("rev-parse", "env:a/agent")

	moved := r.base("second")
	r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b1")})
	r.want("the branch has moved", r.pass(), "first", first)
	if r.want("a fresh process", r.fresh().pass(), "first", first); r.repo.Git("rev-parse", "env:a/agent") != tree {
		t.Error("a fresh process renders something else from the pin")
	}
	r.isAway.Store(true)
	r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b2")})
	r.want("away, and in the cache", r.pass(), "first", first)
	r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b3"), "in/a/more.txt": "x"})
	report := r.fresh().pass()
	if s := states(report); s["b/agent"] != plan.UnitChanged || r.port() != "first" {
		t.Errorf("away, and not in the cache: %v %v", s, report.Diags)
	}
	r.input(map[string]string{"in/a/kustomization.yaml": r.built(r.server.URL +
		"/org/lib.git//base?ref=main")["in/a/kustomization.yaml"] + "# edited\n"})
	report = r.fresh().pass()
	if s := states(report); s["a/agent"] != plan.UnitHeld || r.port() != "first" || !report.Diags.HasErrors() ||
		!strings.Contains(report.Diags[len(report.Diags)-1].Error(), "503") ||
		!strings.Contains(fmt.Sprint(report.Diags), "commit "+strings.Fields(first[0])[3][:7]+
			", which was rendered last, is not in the cache: ") {
		t.Errorf("away, and not in the cache: %v %v", s, report.Diags)
	}
	r.isAway.Store(false)

	r.pipeline.Spec.Charts.Update = "1h"
	due := r.fresh()
	due.want("it is time", due.pass(), "second", []string{"git /org/lib.git main " + moved})
	r.isAway.Store(true)
	r.edit("b4")
	report = due.pass()
	if d := report.Diags; len(d) != 1 || d[0].Code != diag.RemoteUnreachable ||
		!strings.Contains(d[0].Message, "commit "+moved[:7]+" goes on") ||
		!strings.Contains(d[0].Hint, "build.remotes") {
		t.Errorf("away, and it is time: %v", d)
	}
}

// TestAForcedPushRemovesThePinnedCommit: the pass goes on where the commit is in the cache.
func TestAForcedPushRemovesThePinnedCommit(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	first := []string{"git /org/lib.git main " + r.lib.Head("main")}
	r.want("the first", r.pass(), "first", first)
	r.lib.Git("update-ref", "-d", "refs/heads/main")
	second := r.base("second")
	r.lib.Git("reflog", "expire", "--expire=now", "--all")
	r.lib.Git("gc", "-q", "--prune=now")
	r.edit("b1")
	r.want("in the cache", r.pass(), "first", first)
	r.edit("b2")
	report := r.fresh().pass()
	if s := states(report); s["a/agent"] != plan.UnitHeld || s["b/agent"] != plan.UnitChanged || r.port() != "first" {
		t.Errorf("not in the cache: %v %v", s, report.Diags)
	}
	r.pipeline.Spec.Charts.Update = "1h"
	r.want("it is time", r.fresh().pass(), "second", []string{"git /org/lib.git main " + second})
}

// TestWhichAddressesRemotesAllow: what is at or below an entry, however it is spelled, and nothing else.
func TestWhichAddressesRemotesAllow(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	other := gittest.NewRepoAt(t, filepath.Join(filepath.Dir(r.lib.Dir), "..", "organisation", "lib.git"))
	other.Commit("main", map[string]string{"base/kustomization.yaml": "resources: [web.yaml]\n",
		"base/web.yaml": monitor("a", "web", "evil")})
	host := strings.TrimPrefix(r.server.URL, "http://")
	for entry, isAllowed := range map[string]bool{
		"http://HOST/org/lib.git//base?ref=main":                  true,
		"http://HOST/org/lib.git/base?ref=main":                   true,
		"HTTP://HOST/org/lib.git//base":                           true,
		"git::http://HOST/org/lib.git//base":                      true,
		"http://me@HOST/org/lib.git//base":                        true,
		"http://HOST/organisation/lib.git//base":                  false,
		"http://HOST/org/../organisation/lib.git//base":           false,
		"http://HOST/org/%2e%2e/organisation/lib.git//base":       false,
		"http://HOST/org/..%2forganisation/lib.git//base":         false,
		"http://HOST/org%2f..%2forganisation/lib.git//base":       false,
		"http://HOST/ORG/lib.git//base":                           false,
		"http://HOST@127.0.0.2/org/lib.git//base":                 false,
		"http://HOST.evil.example/org/lib.git//base":              false,
		"http://127.0.0.1:1/org/lib.git//base":                    false,
		"http://127.0.0.1/org/lib.git//base":                      false,
		"http://user:password@HOST/org/lib.git//base":             false,
		"file://HOST/org/lib.git//base":                           false,
		"file://" + r.lib.Dir + "//base":                          false,
		"http://HOST/organisation/lib.git/base/web.yaml":          false,
		"http://HOST/org/../organisation/lib.git/web.yaml?raw=ok": false,
	} {
		entry = strings.ReplaceAll(entry, "HOST", host)
		r.input(r.built(entry))
		for len(r.asked) > 0 {
			<-r.asked
		}
		report := r.pass()
		if got := r.port() == "first"; got != isAllowed || got == report.Diags.HasErrors() {
			t.Errorf("%s: allowed %v: %v", entry, got, report.Diags)
		}
		if !isAllowed && len(r.asked) > 0 {
			t.Errorf("%s: the server is asked for %v", entry, <-r.asked)
		}
		if strings.Contains(fmt.Sprint(report.Diags), "password@") {
			t.Errorf("%s: the password is shown: %v", entry, report.Diags)
		}
		if r.repo.Has("env") {
			r.repo.Git("update-ref", "-d", "refs/heads/env")
		}
	}
}

// TestCredentialsOfRemotes go to their own server only, and are in no message.
func TestCredentialsOfRemotes(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{User: "robot", Password: "hunter22"})
	report := r.pass()
	if !report.Diags.HasErrors() || strings.Contains(fmt.Sprint(report.Diags), "hunter22") {
		t.Errorf("without credentials: %v", report.Diags)
	}
	r.creds.Bases[0].Auth = transport.Auth{Username: "robot", Password: "wrong-secret"}
	report = r.fresh().pass()
	if !report.Diags.HasErrors() || strings.Contains(fmt.Sprint(report.Diags), "wrong-secret") {
		t.Errorf("with a wrong password: %v", report.Diags)
	}
	r.creds.Bases[0].Auth.Password = "hunter22"
	r.want("with the password", r.fresh().pass(), "first", []string{"git /org/lib.git main " + r.lib.Head("main")})

	var users []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		users = append(users, req.Header.Get("Authorization"))
		http.NotFound(w, req)
	}))
	t.Cleanup(elsewhere.Close)
	r.pipeline.Spec.Build.Remotes = append(r.pipeline.Spec.Build.Remotes, pipeline.Remote{URL: elsewhere.URL})
	r.creds.Bases = append(r.creds.Bases, gitsync.Base{})
	r.input(r.built(elsewhere.URL + "/org/lib.git//base"))
	r.pass()
	if len(users) == 0 || slices.ContainsFunc(users, func(s string) bool { return s != "" }) {
		t.Errorf("another server gets %q", users)
	}
}

// TestSignedBases: with verify, only signed commits are built, and what a key signed that is no longer trusted is held
// at its last state.
func TestSignedBases(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	file, public := keyFile(t)
	otherFile, other := keyFile(t)
	sign := func(file, port string) string {
		r.base(port)
		return "git /org/lib.git main " + sshSigner(t, file).sign(t, r.lib)
	}
	trust := func(keys ...string) {
		text := ""
		for _, key := range keys {
			text += "ann@example.com " + key + "\n"
		}
		r.creds.Bases[0].Verify = signature.Keyring{AllowedSigners: []byte(text)}
	}
	r.pipeline.Spec.Charts.Update = "1h"
	r.pipeline.Spec.Build.Remotes[0].Verify = &pipeline.Verify{AllowedSignersFile: "/keys"}
	trust(public)
	report := r.pass()
	if !report.Diags.HasErrors() || r.port() != "" {
		t.Errorf("an unsigned commit is accepted: %v", report.Diags)
	}
	one := sign(file, "signed")
	r.want("signed", r.fresh().pass(), "signed", []string{one})
	sign(otherFile, "untrusted")
	report = r.fresh().pass()
	r.want("signed by another", report, "signed", []string{one}, "remote-unverified")
	if text := fmt.Sprint(report.Diags); !strings.Contains(text, "at main: commit "+r.lib.Head("main")[:7]+
		" is not verified: ") || !strings.Contains(text, "; commit "+strings.Fields(one)[3][:7]+" goes on, ") {
		t.Error(text)
	}
	two := sign(otherFile, "rotated")
	trust(other)
	r.want("another key", r.fresh().pass(), "rotated", []string{two})
	_, third := keyFile(t)
	trust(third)
	r.edit("b2")
	report = r.fresh().pass()
	if s := states(report); s["a/agent"] != plan.UnitHeld || s["b/agent"] != plan.UnitChanged || r.port() != "rotated" {
		t.Errorf("no trusted key: %v %s %v", s, r.port(), report.Diags)
	}
	r.input(r.built(r.server.URL + "/org/all.yaml"))
	if report = r.pass(); !strings.Contains(fmt.Sprint(report.Diags), "a file is not signed") {
		t.Errorf("a file: %v", report.Diags)
	}
}

// TestFetchedFiles are pinned by their content, with the query of their URL.
func TestFetchedFiles(t *testing.T) {
	t.Parallel()
	var text atomic.Value
	text.Store(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "# a comment\n", strings.ReplaceAll(monitor("x", req.URL.Query().Get("name"), "first"),
			", namespace: x", ""))
	})
	set := func(answer func(http.ResponseWriter, *http.Request)) { text.Store(answer) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text.Load().(func(http.ResponseWriter, *http.Request))(w, req) //nolint:forcetypeassert // see above
	}))
	t.Cleanup(server.Close)
	r := newBaseLab(t, gittest.HTTPOptions{})
	r.pipeline.Spec.Build.Remotes[0].URL = server.URL + "/files"
	web, api := server.URL+"/files/m.yaml?name=web&token=hunter22", server.URL+"/files/m.yaml?name=api"
	r.input(r.built(web + "', '" + api))
	report := r.pass()
	if report.Diags.HasErrors() {
		t.Fatal(report.Diags)
	}
	config := r.file("a/agent/agent-config.secret.yaml")
	if !strings.Contains(config, "serviceMonitor/a/web/0") ||
		!strings.Contains(config, "serviceMonitor/a/api/0") {
		t.Fatalf("%v\n%s", report.Diags, config)
	}
	if text := r.file(branch.MetadataFile); strings.Contains(text, "hunter22") || len(r.pins()) != 2 {
		t.Errorf("the inventory is %s", text)
	}
	pins := r.pins()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"changed": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, monitor("a", "web", "second")) },
		"a page":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><html><a href='x'>") },
		"large": func(w http.ResponseWriter, req *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
		"a redirect to a page": func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/" {
				fmt.Fprint(w, "<html>")
				return
			}
			http.Redirect(w, req, "/", http.StatusFound)
		},
		"gone": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) },
	} {
		set(answer)
		r.input(map[string]string{"in/b/web.yaml": monitor("b", "web", strings.ReplaceAll(name, " ", "-")),
			"in/a/agent.yaml": r.agent() + "# " + name + "\n"})
		r.want(name+" and in the cache", r.pass(), "first", pins)
		r.input(map[string]string{"in/a/agent.yaml": r.agent() + "# again " + name + "\n"})
		report := r.fresh().pass()
		if s := states(report); s["a/agent"] != plan.UnitHeld || r.port() != "first" ||
			strings.Contains(fmt.Sprint(report.Diags), "hunter22") {
			t.Errorf("%s and not in the cache: %v %v", name, s, report.Diags)
		}
	}
	set(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><html><a href='x'>") })
	r.input(r.built(server.URL + "/files/page.yaml?token=hunter22"))
	if report = r.pass(); strings.Contains(fmt.Sprint(report.Diags), "hunter22") || !report.Diags.HasErrors() {
		t.Errorf("a page: %v", report.Diags)
	}
	set(func(w http.ResponseWriter, _ *http.Request) {
		bad := strings.Replace(monitor("a", "bad", "x"), "spec:", "spec:\n  sampleLimit: many", 1)
		fmt.Fprint(w, "# a comment\n", bad)
	})
	r.input(r.built(server.URL + "/files/bad.yaml?token=hunter22"))
	report = r.pass()
	if !slices.ContainsFunc(report.Diags, func(d diag.Diagnostic) bool {
		return d.Code == diag.InvalidField && strings.HasPrefix(d.File, "@bad.yaml-") &&
			strings.HasSuffix(d.Position(), "/bad.yaml:6:3")
	}) {
		t.Errorf("a finding: %v", report.Diags)
	}
}

// TestRemotesFromAnywhere have public addresses, also after a redirect.
func TestRemotesFromAnywhere(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	r.pipeline.Spec.Build.Remotes, r.creds.Bases, r.options.AnyRemote = nil, nil, true
	for _, entry := range []string{r.server.URL + "/org/lib.git//base", r.server.URL + "/org/lib.git/base/web.yaml",
		r.server.URL + "/web.yaml", "http://localhost:1/o/r//base", "http://[::1]:1/web.yaml"} {
		r.input(r.built(entry))
		for len(r.asked) > 0 {
			<-r.asked
		}
		report := r.pass()
		text := fmt.Sprint(report.Diags) + report.Diags[0].Hint
		if len(r.asked) > 0 || !strings.Contains(text, "not public") ||
			!strings.Contains(text, "build.remotes") || strings.Contains(text, "charts.repositories") {
			t.Errorf("%s: %d requests, %v", entry, len(r.asked), report.Diags)
		}
	}
	r.options.AllowPrivateCharts, r.options.AllowPrivateRemotes = true, true
	r.input(r.built(r.server.URL + "/org/lib.git//base"))
	r.want("allowed", r.pass(), "first", []string{"git /org/lib.git  " + r.lib.Head("main")})
	r.input(r.built("file://" + r.lib.Dir + "//base"))
	if report := r.pass(); !strings.Contains(fmt.Sprint(report.Diags), "is not fetched") {
		t.Errorf("a repository of this machine is fetched: %v", report.Diags)
	}
}

// TestWhatABaseHas: further remote bases, other refs of the same repository, and what agentry does not read.
func TestWhatABaseHas(t *testing.T) {
	t.Parallel()
	r := newBaseLab(t, gittest.HTTPOptions{})
	url := r.server.URL + "/org/lib.git"
	old := r.lib.Head("main")
	r.lib.Git("tag", "-a", "-m", "x", "v1", old)
	r.base("second")
	deep := gittest.NewRepoAt(t, filepath.Join(filepath.Dir(r.lib.Dir), "deep.git"))
	deep.Commit("main", map[string]string{
		"kustomization.yaml": "resources: ['" + url + "//base?ref=v1']\nnameSuffix: -deep\n",
		"huge.bin":           strings.Repeat("x", 64<<20)})
	work := deep.Checkout("main")
	for name, target := range map[string]string{"link": "/etc/passwd", "up": "../../..", "loop": "loop", "sub": "."} {
		if err := os.Symlink(target, filepath.Join(work.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	work.Git("add", "-A")
	work.Git("update-index", "--add", "--cacheinfo", "160000,"+old+",module")
	work.Git("commit", "-qm", "x")
	work.Git("push", "-q", "origin", "HEAD:main")

	at := r.server.URL + "/org/deep.git"
	r.input(r.built(at + "', '" + url + "//base?ref=refs/heads/main"))
	r.want("both", r.pass(), "second", []string{"git /org/deep.git  " + deep.Head("main"),
		"git /org/lib.git refs/heads/main " + r.lib.Head("main"), "git /org/lib.git v1 " + old})
	if config := r.file("a/agent/agent-config.secret.yaml"); !strings.Contains(config, "serviceMonitor/a/web-deep/0") ||
		!strings.Contains(config, "serviceMonitor/a/web/0") {
		t.Error(config)
	}
	for _, entry := range []string{at + "//link", at + "//up", at + "//loop", at + "//module", at + "//huge.bin",
		at + "//none", at + "?ref=none", at + "?ref=" + old, at + "?ref=" + deep.Head("main")[:12], at + "?ref=--help",
		r.server.URL + "/org/none.git"} {
		r.input(r.built(entry))
		report := r.pass()
		if !report.Diags.HasErrors() || r.port() != "second" {
			t.Errorf("%s: %v %v", entry, r.port(), report.Diags)
		}
		text := fmt.Sprint(report.Diags) + report.Diags[0].Hint
		isAdvised := strings.Contains(text, "existing tags and branches: main") &&
			strings.Contains(text, "write ?ref= with a branch")
		if strings.HasSuffix(entry, "?ref=none") && !isAdvised {
			t.Errorf("%s: %s", entry, text)
		}
	}
	r.input(r.built(at + "//sub/sub?ref=" + deep.Head("main")))
	r.want("a commit, through a link", r.pass(), "first", []string{
		"git /org/deep.git " + deep.Head("main") + " " + deep.Head("main"), "git /org/lib.git v1 " + old})
}

// TestABaseOfATenantIsTheTenants: whoever names it is the author of what it gives.
func TestABaseOfATenantIsTheTenants(t *testing.T) {
	t.Parallel()
	for _, folders := range []string{"in/{namespace}/**", "*/{namespace}/**"} {
		r := newBaseLab(t, gittest.HTTPOptions{})
		r.pipeline.Spec.Tenancy = &pipeline.Tenancy{Folders: folders}
		r.want("its own namespace", r.pass(), "first", []string{"git /org/lib.git main " + r.lib.Head("main")})
		r.input(map[string]string{"in/a/kustomization.yaml": "resources: ['" + r.server.URL +
			"/org/lib.git//other']\n"})
		r.lib.Commit("main", map[string]string{"other/kustomization.yaml": "resources: [web.yaml]\n",
			"other/web.yaml": monitor("b", "evil", "http")})
		report := r.fresh().pass()
		if strings.Contains(r.file("b/agent/agent-config.secret.yaml"), "evil") || !report.Diags.HasErrors() {
			t.Errorf("%s: another's namespace: %v", folders, report.Diags)
		}
	}
}
