package gitsync_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/plan"
	"github.com/agentry-dev/agentry/inputs"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// chartRepository is a repository with versions of the chart shop, which scrapes a port.
type chartRepository struct {
	*httptest.Server
	mu      sync.Mutex
	ports   map[string]string // by version
	answers func(http.ResponseWriter, *http.Request) bool
	asked   int
}

func newChartRepository(t *testing.T, ports map[string]string) *chartRepository {
	t.Helper()
	r := &chartRepository{ports: ports}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.asked++; r.answers != nil && r.answers(w, req) {
			return
		}
		if req.URL.Path == "/index.yaml" {
			fmt.Fprint(w, "entries:\n  shop:\n")
			for version, port := range r.ports {
				sum := sha256.Sum256(shopChart(t, version, port))
				fmt.Fprintf(w, "  - {version: %s, digest: %s, urls: [shop-%s.tgz]}\n", version,
					hex.EncodeToString(sum[:]), version)
			}
			return
		}
		for version, port := range r.ports {
			if req.URL.Path == "/shop-"+version+".tgz" {
				_, _ = w.Write(shopChart(t, version, port)) // the client may stop reading
				return
			}
		}
		http.NotFound(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// set changes what the repository has, and how it answers.
func (r *chartRepository) set(ports map[string]string, answers func(http.ResponseWriter, *http.Request) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports, r.answers, r.asked = ports, answers, 0
}

// away answers nothing that helps.
func away(w http.ResponseWriter, _ *http.Request) bool {
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

func shopChart(t *testing.T, version, port string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	template := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web}\nspec:\n" +
		"  selector: {matchLabels: {app: web}}\n  endpoints: [{port: " + port + "}]\n"
	for _, f := range [][2]string{{"shop/Chart.yaml", "apiVersion: v2\nname: shop\nversion: " + version + "\n"},
		{"shop/templates/monitor.yaml", template}} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f[0], Size: int64(len(f[1])),
			Mode: 0o644}); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

// newChartLab has team a with a chart of a repository, and team b without.
func newChartLab(t *testing.T, r *chartRepository, version string) *lab {
	l := newLab(t)
	l.pipeline.Spec.Charts = pipeline.Charts{Update: "never", Repositories: []pipeline.ChartRepository{{URL: r.URL}}}
	l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(l.options.Charts.Close)
	l.input(map[string]string{
		"in/a/agent.yaml": strings.ReplaceAll(agent("a"), ", namespace: a", ""), "in/b/agent.yaml": agent("b"),
		"in/b/web.yaml":           monitor("b", "web", "http"),
		"in/a/kustomization.yaml": fetches(r, version),
	})
	return l
}

func fetches(r *chartRepository, version string) string {
	return "namespace: a\nresources: [agent.yaml]\nhelmCharts: [{name: shop, repo: '" + r.URL + "', version: '" +
		version + "', releaseName: web}]\n"
}

// fresh is the lab of a process with an empty cache.
func (l *lab) fresh() *lab {
	other := *l
	other.options.CacheDir = l.t.TempDir()
	return &other
}

// pins are the versions in the inventory.
func (l *lab) pins() (out []string) {
	l.t.Helper()
	var bases branch.Bases
	if err := json.Unmarshal([]byte(l.remote.read("env")[branch.MetadataFile].text), &bases); err != nil {
		l.t.Fatal(err)
	}
	for _, p := range bases.Charts {
		out = append(out, p.Name+" "+p.Version+" is "+p.Pin.Version)
	}
	return out
}

// port is what the agent of team a scrapes.
func (l *lab) port() string {
	l.t.Helper()
	_, after, _ := strings.Cut(l.remote.read("env")["a/agent/agent-config.secret.yaml"].text,
		"__meta_kubernetes_endpoint_port_name")
	_, after, _ = strings.Cut(after, "regex: ")
	port, _, _ := strings.Cut(after, "\n")
	return port
}

// quickStore waits for no server for long.
func quickStore(t *testing.T) *chart.Store {
	return chart.NewStore(chart.Options{Folder: t.TempDir(), Timeout: 10 * time.Second})
}

// TestFetchedChartsArePinned: the inventory says which version is used, until it is time to look it up again.
func TestFetchedChartsArePinned(t *testing.T) {
	t.Parallel()
	r := newChartRepository(t, map[string]string{"1.2.0": "first", "2.0.0": "other"})
	l := newChartLab(t, r, "1.x")
	check := func(step string, report *gitsync.Report, port, pin string, isNew bool, findings ...string) {
		t.Helper()
		var got []string
		for _, d := range report.Diags {
			got = append(got, string(d.Code))
		}
		if !slices.Equal(got, findings) || (report.Commit != "") != isNew {
			t.Errorf("%s: commit %q, %v", step, report.Commit, report.Diags)
		}
		if diff := cmp.Diff([]string{port, "shop 1.x is " + pin}, append([]string{l.port()}, l.pins()...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	check("the first", l.pass(), "first", "1.2.0", true)
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b1")})
	check("a fresh process with update: never", l.fresh().pass(), "first", "1.2.0", true)

	l.pipeline.Spec.Charts.Update = "1h"
	follower := l.syncer()
	r.set(map[string]string{"1.2.0": "first"}, nil)
	check("nothing new", l.passOf(follower), "first", "1.2.0", false)
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
	check("it is not time yet", l.passOf(follower), "first", "1.2.0", false)
	check("a process that looks it up", l.fresh().pass(), "second", "1.3.0", true)
	check("one that did before", l.passOf(follower), "second", "1.3.0", false)

	r.set(nil, away)
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b2")})
	check("away, and in the cache", l.pass(), "second", "1.3.0", true, "chart-unreachable")
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "forged"}, nil)
	check("changed", l.pass(), "second", "1.3.0", false, "chart-changed")
}

// TestANewVersionAloneMakesNoCommit: a new version alone makes a commit only if it renders to something else.
func TestANewVersionAloneMakesNoCommit(t *testing.T) {
	t.Parallel()
	r := newChartRepository(t, map[string]string{"1.2.0": "first"})
	l := newChartLab(t, r, "1.x")
	l.pipeline.Spec.Charts.Update = "1h"
	l.pass()
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "first"}, nil)
	s := l.syncer()
	if report := l.passOf(s); report.Commit != "" || !slices.Equal(l.pins(), []string{"shop 1.x is 1.2.0"}) {
		t.Errorf("commit %q, %v", report.Commit, l.pins())
	}
	l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b1")})
	if report := l.passOf(s); report.Commit == "" || !slices.Equal(l.pins(), []string{"shop 1.x is 1.3.0"}) {
		t.Errorf("commit %q, %v", report.Commit, l.pins())
	}
}

// TestAChartThatIsAwayHoldsItsUnit: in a process with an empty cache nobody knows what it gave, so nothing of it is
// deleted.
func TestAChartThatIsAwayHoldsItsUnit(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"away": away,
		"lies": func(w http.ResponseWriter, req *http.Request) bool {
			if req.URL.Path != "/index.yaml" {
				_, _ = w.Write(shopChart(t, "1.2.0", "forged"))
			}
			return req.URL.Path != "/index.yaml"
		},
		"slow": func(_ http.ResponseWriter, req *http.Request) bool {
			<-req.Context().Done()
			return true
		},
		"a bomb": func(w http.ResponseWriter, req *http.Request) bool {
			for req.URL.Path != "/index.yaml" {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return true
				}
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newChartRepository(t, map[string]string{"1.2.0": "first"})
			l := newChartLab(t, r, "1.x")
			l.pass()
			before := below(l.remote.read("env"), "a")
			r.set(map[string]string{"1.2.0": "first"}, answers)
			l.input(map[string]string{"in/b/web.yaml": monitor("b", "web", "b1"),
				"in/a/kustomization.yaml": fetches(r, "1.x") + "# edited\n"})
			other := l.fresh()
			other.options.ChartStore = quickStore(t)
			report := other.pass()
			if !slices.Equal(codes(report, diag.Error), []string{"vanished-held", "build-failed"}) ||
				report.Commit == "" || states(report)["a/agent"] != plan.UnitHeld ||
				states(report)["b/agent"] != plan.UnitChanged {
				t.Errorf("commit %q, units %v, %v", report.Commit, states(report), report.Diags)
			}
			after := below(l.remote.read("env"), "a")
			delete(before, "agent/README.md")
			delete(after, "agent/README.md") // which says that it is held
			if diff := cmp.Diff(before, after, cmp.AllowUnexported(entry{})); diff != "" {
				t.Errorf("team a (-before +after):\n%s", diff)
			}
			if got := l.pins(); !slices.Equal(got, []string{"shop 1.x is 1.2.0"}) {
				t.Errorf("pins %v", got)
			}
			r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
			if report := l.fresh().pass(); len(report.Diags) > 0 || l.port() != "first" {
				t.Errorf("when it is back: port %s, %v", l.port(), report.Diags)
			}
		})
	}
}

// TestANewChartThatCannotBeHad holds what its kustomization gave before it.
func TestANewChartThatCannotBeHad(t *testing.T) {
	t.Parallel()
	r := newChartRepository(t, map[string]string{"1.2.0": "first"})
	l := newChartLab(t, r, "1.x")
	l.pass()
	l.input(map[string]string{"in/a/kustomization.yaml": fetches(r, "9.x")})
	report := l.pass()
	if !slices.Equal(codes(report, diag.Error), []string{"build-failed"}) ||
		!strings.Contains(report.Diags[0].Message, `no version of the chart in "9.x"`) || len(report.Held) == 0 {
		t.Errorf("held %v, %v", report.Held, report.Diags)
	}
	l.pipeline.Spec.Charts.Repositories = nil
	l.input(map[string]string{"in/a/kustomization.yaml": fetches(r, "1.2.0")})
	if report := l.pass(); len(report.Diags) == 0 ||
		!strings.Contains(report.Diags[0].Hint, "list its URL in charts.repositories") {
		t.Errorf("a private address that the pipeline does not name: %v", report.Diags)
	}
}

// TestAProposalPinsItsCharts: another process proposes the same, though a new version came out since.
func TestAProposalPinsItsCharts(t *testing.T) {
	t.Parallel()
	charts := newChartRepository(t, map[string]string{"1.2.0": "first"})
	r := newPromotion(t)
	l := newChartLab(t, charts, "1.x")
	r.options.Charts, r.pipeline.Spec.Charts = l.options.Charts, l.pipeline.Spec.Charts
	r.input(l.files)
	first := r.pass()
	if first.Proposed.Commit == first.Proposed.Base || first.Proposed.Commit == "" {
		t.Fatalf("nothing is proposed: %v", first.Diags)
	}
	charts.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
	r.options.CacheDir = t.TempDir()
	if again := r.pass(); again.Proposed.Commit != first.Proposed.Commit ||
		again.Proposed.DrySHA != first.Proposed.DrySHA {
		t.Errorf("another process proposes %+v, not %+v", again.Proposed, first.Proposed)
	}
	r.pipeline.Spec.Charts.Update = "1h"
	s := r.syncer()
	next := r.passOf(s)
	if lock := r.repo.Git("show", "agentry/inputs:test.lock"); !strings.Contains(lock, `"version": "1.3.0"`) ||
		next.Proposed.DrySHA == first.Proposed.DrySHA {
		t.Errorf("a new version has drySha %s and the lock file\n%s", next.Proposed.DrySHA, lock)
	}
	if again := r.passOf(s); again.Proposed.Commit != next.Proposed.Commit ||
		again.Proposed.DrySHA != next.Proposed.DrySHA {
		t.Errorf("the next pass proposes %+v, not %+v", again.Proposed, next.Proposed)
	}
}

// TestChartsOfHelmReleasesArePinned as those of kustomizations are: two releases of one chart have one version.
func TestChartsOfHelmReleasesArePinned(t *testing.T) {
	t.Parallel()
	r := newChartRepository(t, map[string]string{"1.2.0": "first"})
	l := newChartLab(t, r, "1.x")
	l.pipeline.Spec.Sources[0].Build = inputs.Flux
	release := func(ns string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: " + ns +
			"}\nspec:\n  interval: 1h\n  chart: {spec: {chart: shop, version: 1.x, sourceRef: {kind: HelmRepository, " +
			"name: shop, namespace: flux-system}}}\n"
	}
	l.input(map[string]string{
		"in/a/kustomization.yaml": "", "in/a/agent.yaml": agent("a"), "in/b/web.yaml": "",
		"in/shop.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n" +
			"metadata: {name: shop, namespace: flux-system}\nspec: {url: '" + r.URL + "'}\n",
		"in/a/web.yaml": release("a"), "in/b/release.yaml": release("b"),
	})
	report := l.pass()
	if diff := cmp.Diff([]string{"first", "shop 1.x is 1.2.0"}, append([]string{l.port()}, l.pins()...)); diff != "" ||
		len(report.Diags) > 0 {
		t.Errorf("%v (-want +got):\n%s", report.Diags, diff)
	}
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
	l.input(map[string]string{"in/c/agent.yaml": agent("c")})
	if report := l.fresh().pass(); l.port() != "first" || report.Diags.HasErrors() || report.Commit == "" {
		t.Errorf("a fresh process: %s, commit %q, %v", l.port(), report.Commit, report.Diags)
	}
	r.set(nil, away)
	l.input(map[string]string{"in/c/agent.yaml": agent("c") + "# x\n"})
	report = l.fresh().pass()
	if s := states(report); s["a/agent"] != plan.UnitHeld || s["b/agent"] != plan.UnitHeld ||
		s["c/agent"] != plan.UnitUnchanged {
		t.Errorf("away: %v %v", s, report.Diags)
	}
}

// TestDependenciesOfAChartArePinned: those of a chart in the repository count like any chart.
func TestDependenciesOfAChartArePinned(t *testing.T) {
	t.Parallel()
	r := newChartRepository(t, map[string]string{"1.2.0": "first"})
	l := newChartLab(t, r, "1.x")
	l.pipeline.Spec.Sources[0].Build = inputs.Flux
	l.input(map[string]string{
		"in/a/kustomization.yaml": "", "in/a/agent.yaml": agent("a"), "in/b/web.yaml": "",
		"in/a/web.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" +
			"metadata: {name: web, namespace: a}\nspec:\n  chart: {spec: {chart: charts/umbrella, sourceRef: " +
			"{kind: GitRepository, name: flux-system, namespace: flux-system}}}\n",
		"charts/umbrella/Chart.yaml": "apiVersion: v2\nname: umbrella\nversion: 1.0.0\n" +
			"dependencies: [{name: shop, version: 1.x, repository: '" + r.URL + "'}]\n",
	})
	report := l.pass()
	if diff := cmp.Diff([]string{"first", "shop 1.x is 1.2.0"}, append([]string{l.port()}, l.pins()...)); diff != "" ||
		report.Diags.HasErrors() {
		t.Errorf("%v (-want +got):\n%s", report.Diags, diff)
	}
	r.set(map[string]string{"1.2.0": "first", "1.3.0": "second"}, nil)
	l.input(map[string]string{"in/c/agent.yaml": agent("c")})
	if report := l.fresh().pass(); l.port() != "first" || report.Diags.HasErrors() || report.Commit == "" {
		t.Errorf("a fresh process: %s, commit %q, %v", l.port(), report.Commit, report.Diags)
	}
	r.set(nil, away)
	l.input(map[string]string{"in/c/agent.yaml": agent("c") + "# x\n"})
	report = l.fresh().pass()
	if s := states(report); s["a/agent"] != plan.UnitHeld || s["c/agent"] != plan.UnitUnchanged {
		t.Errorf("away: %v %v", s, report.Diags)
	}
}
