package sd

import (
	"bytes"
	stdcmp "cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/poll"
	"github.com/agentry-dev/agentry/test/isolate"
	"github.com/agentry-dev/agentry/test/sd/fakeapi"
	"github.com/agentry-dev/agentry/test/sd/rig"
	"github.com/agentry-dev/agentry/test/sd/strict"
)

const testInterval = 50 * time.Millisecond

func TestMain(m *testing.M) { os.Exit(isolate.Main(isolate.Namespaces{Network: true}, m.Run)) }

// testbed is an aggregator between an API server, pods and consumers.
type testbed struct {
	*testing.T
	api   *fakeapi.Server
	pods  *rig.Pods
	sd    *httptest.Server
	admin *httptest.Server
}

func newTestbed(t *testing.T, namespaces ...string) *testbed {
	return newTestbedOn(t, func(*fakeapi.Server) {}, namespaces...)
}

// newTestbedOn prepares the API server before the first request.
func newTestbedOn(t *testing.T, prepare func(*fakeapi.Server), namespaces ...string) *testbed {
	before := runtime.NumGoroutine()
	t.Cleanup(func() { noLeak(t, before) })
	r := &testbed{T: t, api: fakeapi.New(t), pods: newPods(t, nil)}
	prepare(r.api)
	r.sd, r.admin = r.replica(Options{Source: r.source(namespaces...)})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return r
}

func newPods(t *testing.T, config *tls.Config) *rig.Pods {
	t.Helper()
	pods, err := rig.NewPods(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pods.Close)
	return pods
}

func (r *testbed) source(namespaces ...string) *discover.Slices {
	r.Helper()
	source, err := discover.NewSlices(discover.SlicesOptions{Config: r.api.Config(), Namespaces: namespaces,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.Fatal(err)
	}
	return source
}

// replica starts an aggregator, which ends with the test.
func (r *testbed) replica(o Options) (sd, admin *httptest.Server) {
	o.Log = stdcmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Interval = stdcmp.Or(o.Interval, testInterval)
	o.PodTimeout = stdcmp.Or(o.PodTimeout, time.Second)
	o.Version = "test"
	a := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	sd, admin = httptest.NewServer(a.Handler(nil)), httptest.NewServer(a.AdminHandler())
	r.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		sd.Close()
		admin.Close()
		cancel()
		<-done
	})
	return sd, admin
}

// noLeak waits until no more goroutines run than before.
func noLeak(t *testing.T, before int) {
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("goroutines are left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

func (r *testbed) pod(address string, handler http.Handler) {
	r.pods.Set(netip.MustParseAddr(address), handler)
}

func (r *testbed) put(agent, name string, addresses ...string) *discoveryv1.EndpointSlice {
	slice := fakeapi.Slice("ns", agent, name, r.pods.Port, addresses...)
	r.api.Put(slice)
	return slice
}

// do makes a request, with headers as name and value in turn.
func (r *testbed) do(method, url string, headers ...string) (*http.Response, string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, url, nil)
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	return response, string(body)
}

func (r *testbed) read(response *http.Response, body string) ([]strict.Group, error) {
	return strict.Read(response.StatusCode, response.Header, []byte(body))
}

// targets returns the targets of the document, as agent/integration@address.
func (r *testbed) targets(query string) []string {
	r.Helper()
	response, body := r.do(http.MethodGet, r.sd.URL+Path+query)
	if response.StatusCode != http.StatusOK {
		return []string{response.Status}
	}
	groups, err := r.read(response, body)
	if err != nil {
		r.Fatalf("a client refuses the document: %v\n%s", err, body)
	}
	out := []string{}
	for _, g := range groups {
		host, _, _ := strings.Cut(g.Targets[0], ":")
		out = append(out, g.Labels["__meta_agentoperator_grafanaagent_name"]+"/"+
			g.Labels["__meta_agent_integration_name"]+"@"+host)
	}
	slices.Sort(out)
	return out
}

// until waits for a condition.
func (r *testbed) until(what string, condition func() bool) {
	r.Helper()
	for range 1000 {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.Fatal("never: " + what)
}

func (r *testbed) untilTargets(query string, want ...string) {
	r.Helper()
	if want == nil {
		want = []string{}
	}
	var diff string
	for range 1000 {
		if diff = cmp.Diff(want, r.targets(query)); diff == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.Fatal(diff)
}

func (r *testbed) status() Report {
	r.Helper()
	_, body := r.do(http.MethodGet, r.sd.URL+"/status.json")
	var report Report
	if err := json.Unmarshal([]byte(body), &report); err != nil {
		r.Fatal(err)
	}
	return report
}

func TestFromSlicesToConsumers(t *testing.T) {
	r := newTestbed(t)
	r.pod("10.0.1.1", rig.Runs("agent", "redis"))
	r.pod("10.0.1.2", rig.Runs("agent"))
	r.pod("10.0.1.3", rig.Runs("mysql"))
	r.put("ga", "one", "10.0.1.1", "10.0.1.2")
	r.untilTargets("", "ga/agent@10.0.1.1", "ga/agent@10.0.1.2", "ga/redis@10.0.1.1")
	r.put("gb", "two", "10.0.1.3")
	r.untilTargets("?grafanaagent=ns/gb", "gb/mysql@10.0.1.3")
	r.untilTargets("?grafanaagent=ns/none")
	r.put("ga", "one", "10.0.1.2")
	r.untilTargets("", "ga/agent@10.0.1.2", "gb/mysql@10.0.1.3")
	r.pod("10.0.1.3", rig.Says(`[{"targets":["10.`))
	r.until("failing", func() bool { return strings.Contains(r.scrape(), `agentry_sd_pods{state="failing"} 1`) })
	r.untilTargets("?grafanaagent=ns/gb", "gb/mysql@10.0.1.3")
	r.api.Away(true)
	r.until("the server is away", func() bool { return r.status().Watches[0].State == discover.WatchFailing })
	r.untilTargets("", "ga/agent@10.0.1.2", "gb/mysql@10.0.1.3")
	if response, _ := r.do(http.MethodGet, r.admin.URL+"/readyz"); response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	r.api.Away(false)
	r.api.Delete("ns", "one")
	r.untilTargets("", "gb/mysql@10.0.1.3")
}

func TestNothingIsServedBeforeAllIsKnown(t *testing.T) {
	r := newTestbedOn(t, func(api *fakeapi.Server) { api.Away(true) })
	r.until("the server is away", func() bool { return r.status().Watches[0].State == discover.WatchFailing })
	for _, url := range []string{r.sd.URL + Path, r.sd.URL + Path + "?grafanaagent=ns/ga", r.admin.URL + "/readyz"} {
		response, body := r.do(http.MethodGet, url)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
			body == "" {
			t.Errorf("%s: %s %q", url, response.Status, body)
		}
	}
	if response, _ := r.do(http.MethodGet, r.admin.URL+"/healthz"); response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	if response, body := r.do(http.MethodGet, r.sd.URL+"/"); response.StatusCode != http.StatusOK ||
		!strings.Contains(body, "Not ready") {
		t.Error(response.Status, body)
	}
	r.api.Away(false)
	r.untilTargets("")
}

func TestAnAgentThatIsNotSeenHasNoEmptyList(t *testing.T) {
	r := newTestbedOn(t, func(api *fakeapi.Server) { api.Forbid("closed", true) }, "ns", "closed")
	r.untilTargets("")
	for query, want := range map[string]int{"": 200, "?grafanaagent=ns/x": 200, "?grafanaagent=closed/x": 503,
		"?grafanaagent=other/x": 503} {
		if response, _ := r.do(http.MethodGet, r.sd.URL+Path+query); response.StatusCode != want {
			t.Errorf("%q: %s", query, response.Status)
		}
	}
	if !strings.Contains(r.scrape(), `agentry_sd_watches{state="forbidden"} 1`) {
		t.Error(r.scrape())
	}
}

func TestHTTP(t *testing.T) {
	r := newTestbed(t)
	r.pod("10.0.1.1", rig.Runs("agent"))
	r.put("ga", "one", "10.0.1.1")
	r.untilTargets("", "ga/agent@10.0.1.1")
	plain, body := r.do(http.MethodGet, r.sd.URL+Path)
	tag := plain.Header.Get("Etag")
	zipped, packed := r.do(http.MethodGet, r.sd.URL+Path, "Accept-Encoding", "br, gzip;q=0.5")
	reader, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked, err := io.ReadAll(reader); err != nil || string(unpacked) != body {
		t.Errorf("%v %s", err, unpacked)
	}
	if plain.Header.Get("Content-Type") != "application/json" || plain.ContentLength != int64(len(body)) ||
		zipped.ContentLength != int64(len(packed)) ||
		zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("Etag") == tag ||
		!strings.HasPrefix(tag, `"`) {
		t.Error(plain.Header, zipped.Header)
	}
	tests := map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"the same":               {"GET", Path, []string{"If-None-Match", tag}, 304},
		"one of several":         {"GET", Path, []string{"If-None-Match", `"x", W/` + tag}, 304},
		"any":                    {"GET", Path, []string{"If-None-Match", "*"}, 304},
		"another":                {"GET", Path, []string{"If-None-Match", `"x"`}, 200},
		"that of the packed one": {"GET", Path, []string{"If-None-Match", zipped.Header.Get("Etag")}, 200},
		"packed, the same": {"GET", Path,
			[]string{"If-None-Match", zipped.Header.Get("Etag"), "Accept-Encoding", "gzip"}, 304},
		"only the header":          {"HEAD", Path, nil, 200},
		"gzip refused":             {"GET", Path, []string{"Accept-Encoding", "gzip;q=0"}, 200},
		"POST":                     {"POST", Path, nil, 405},
		"a slash behind":           {"GET", Path + "/", nil, 404},
		"another path":             {"GET", "/debug/pprof", nil, 404},
		"metrics":                  {"GET", "/metrics", nil, 404},
		"an unknown parameter":     {"GET", Path + "?integrations=a", nil, 400},
		"one parameter too many":   {"GET", Path + "?grafanaagent=a/b&x=y", nil, 400},
		"the same parameter twice": {"GET", Path + "?grafanaagent=a/b&grafanaagent=c/d", nil, 400},
		"an empty parameter":       {"GET", Path + "?grafanaagent=", nil, 400},
		"no namespace":             {"GET", Path + "?grafanaagent=b", nil, 400},
		"a broken escape":          {"GET", Path + "?grafanaagent=%zz", nil, 400},
		"an escaped slash":         {"GET", Path + "?grafanaagent=ns%2Fga", nil, 200},
	}
	for name, test := range tests {
		t.Run(name, func(*testing.T) {
			response, got := r.do(test.method, r.sd.URL+test.path, test.headers...)
			if response.StatusCode != test.want || test.method == "HEAD" && response.ContentLength != int64(len(body)) {
				t.Errorf("%s: %s", name, response.Status)
			}
			if test.want == 200 && test.method == "GET" && got != body {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}

func TestOneBadPodHarmsNobody(t *testing.T) {
	bodies := map[string]http.Handler{
		"10.0.2.1": rig.Says(`null`),
		"10.0.2.2": rig.Says(`[]{}`),
		"10.0.2.3": rig.Says(strings.Repeat(" ", 2_000_000)),
		"10.0.2.4": rig.Says(`[{"targets":["169.254.169.254:80"],"labels":{"__address__":"x"}}]`),
		"10.0.2.5": rig.Says("[" + strings.Repeat(`{"targets":[],"labels":{"a-b":"c"}},`, 20) + `{}]`),
		"10.0.2.6": rig.FaultNamed("redirect to another host").New(),
		"10.0.2.7": rig.FaultNamed("hang").New(),
		"10.0.2.8": rig.Says(`[{"targets":["<script>alert(1)</script>"]}]`),
		"10.0.2.9": rig.FaultNamed("reset").New(),
	}
	r := newTestbed(t)
	r.pod("10.0.1.1", rig.Runs("agent"))
	addresses := []string{"10.0.1.1", "192.168.0.1"} // Nobody is at the last one.
	for address, body := range bodies {
		r.pod(address, body)
		addresses = append(addresses, address)
	}
	r.put("ga", "one", addresses...)
	r.untilTargets("", "ga/agent@10.0.1.1")
	r.until("all were tried", func() bool {
		metrics := r.scrape()
		return strings.Contains(metrics, `agentry_sd_pods{state="failing"} 7`) &&
			strings.Contains(metrics, `agentry_sd_pods{state="empty"} 3`)
	})
	response, page := r.do(http.MethodGet, r.sd.URL+"/?grafanaagent=ns/ga")
	if strings.Contains(page, "<script>") || !strings.Contains(page, "&lt;script&gt;") ||
		!strings.Contains(page, "foreign_target") {
		t.Error(page)
	}
	if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		t.Error(policy)
	}
	metrics := r.scrape()
	for _, want := range []string{`fetch_failures_total{reason="redirect"}`, `fetch_failures_total{reason="timeout"}`,
		`groups_dropped_total{reason="foreign_target"}`} {
		if !strings.Contains(metrics, want) || strings.Contains(metrics, want+" 0\n") {
			t.Errorf("%s is not counted", want)
		}
	}
}

func (r *testbed) scrape() string {
	r.Helper()
	_, body := r.do(http.MethodGet, r.admin.URL+"/metrics")
	return body
}

func TestExpectedAgainstSeen(t *testing.T) {
	r := newTestbed(t)
	r.pod("10.0.1.1", rig.Runs("redis", "redis", "agent", "unexpected"))
	r.pod("10.0.1.2", rig.Runs("agent"))
	slice := fakeapi.Slice("ns", "ga", "one", r.pods.Port, "10.0.1.1", "10.0.1.2")
	for key, value := range map[string]string{discover.DaemonSetPrefix + "agent": "1",
		discover.DeploymentPrefix + "redis": "3", discover.DeploymentPrefix + "agent": "1"} {
		slice.Labels[key] = value
	}
	slice.Endpoints[0].TargetRef.Name, slice.Endpoints[1].TargetRef.Name = "ga-integrations-deploy-5d9c-x2v8z",
		"ga-integrations-ds-zz8kd"
	r.api.Put(slice)
	want := []Expectation{{"agent", 2, 2}, {"redis", 3, 1}} // Equal groups are one.
	r.until("counted", func() bool {
		s := r.status()
		return len(s.Agents) == 1 && cmp.Equal(want, s.Agents[0].Integrations)
	})
	metrics := r.scrape()
	for _, line := range []string{
		`agentry_sd_integrations_expected{grafanaagent="ga",integration="redis",namespace="ns"} 3`,
		`agentry_sd_integrations_seen{grafanaagent="ga",integration="redis",namespace="ns"} 1`,
	} {
		if !strings.Contains(metrics, line) {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(metrics, "unexpected") {
		t.Error("pods make up labels of metrics")
	}
}

func TestThePageIsBounded(t *testing.T) {
	agent := AgentReport{}
	for i := range maxRows + 7 {
		agent.Pods = append(agent.Pods, PodReport{Name: fmt.Sprint("pod-", i), State: poll.StateGood})
	}
	agent.Pods[maxRows+3].State = poll.StateFailing
	p := newPage(Report{Agents: []AgentReport{agent}}, nil, time.Now())
	if p.Hidden != 7 || len(p.Rows) != maxRows || p.Rows[0].Name != fmt.Sprint("pod-", maxRows+3) {
		t.Errorf("%d hidden, %d rows, first %+v", p.Hidden, len(p.Rows), p.Rows[0])
	}
}

func TestEveryMetricSaysWhenToWorry(t *testing.T) {
	r := newTestbed(t)
	r.untilTargets("")
	var missing bytes.Buffer
	for line := range strings.SplitSeq(r.scrape(), "\n") {
		if help, ok := strings.CutPrefix(line,
			"# HELP agentry_sd_"); ok && !strings.Contains(help, "Worry") && !strings.Contains(help, "worry") &&
			!strings.HasPrefix(help, "integrations_expected") {
			fmt.Fprintln(&missing, help)
		}
	}
	if missing.Len() > 0 {
		t.Error(missing.String())
	}
}
