package browser

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/sd"
	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

// found is a source that has found what it ever will.
type found discover.Found

func (f found) Run(ctx context.Context, changed func()) {
	changed()
	<-ctx.Done()
}
func (f found) Found() discover.Found { return discover.Found(f) }
func (f found) Sees(merge.Owner) bool { return true }

// aggregator runs the real thing over a source, and serves what it serves.
func aggregator(t *testing.T, source discover.Source) *httptest.Server {
	t.Helper()
	a := sd.New(sd.Options{Source: source, Log: slog.New(slog.DiscardHandler), Version: "v1.2.3",
		Interval: 100 * time.Millisecond, PodTimeout: 200 * time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return serve(t, a.Handler(nil))
}

// pod is one that answers so.
func pod(t *testing.T, owner merge.Owner, name string, answer http.HandlerFunc) poll.Pod {
	t.Helper()
	at, err := url.Parse(serve(t, answer).URL)
	if err != nil {
		t.Fatal(err)
	}
	return poll.Pod{Owner: owner, Name: name, Addr: netip.MustParseAddrPort(at.Host), UID: name,
		Node: "ip-10-0-12-7.eu-central-1.compute.internal", Ready: true}
}

// says is the answer of a pod, with HOST for its address.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "HOST", r.Host))
	}
}

func group(integration string) string {
	return `{"targets":["HOST"],"labels":{"__meta_agent_integration_name":"` + integration +
		`","__metrics_path__":"/integrations/` + integration + `/metrics","job":"integrations/` + integration + `"}}`
}

// clutter has all that the page can show.
func clutter(t *testing.T) found {
	shop, odd := merge.Owner{Namespace: "monitoring", Name: "shop"}, merge.Owner{Namespace: "team-" + long()[:50],
		Name: `a&b=c#d%41<img src=x onerror=alert(1)>`}
	hostilePod := pod(t, odd, hostile, says("["+group("redis")+`,{"targets":["10.0.0.2:80"]}]`))
	hostilePod.Node = long()
	silent := pod(t, shop, "shop-integrations-ds-silent", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})
	return found{
		Synced: true,
		Agents: []discover.Agent{
			{Owner: shop, DaemonSet: map[string]int{"agent": 1, "node_exporter": 1, "redis": 3},
				Deployment: map[string]int{"mysql": 1}},
			{Owner: odd, DaemonSet: map[string]int{"redis": 1, hostile: 1}},
			{Owner: merge.Owner{Namespace: "monitoring", Name: "without-pods"}},
		},
		Pods: []poll.Pod{
			pod(t, shop, "shop-integrations-ds-x7k2p", says("["+group("agent")+","+group("node_exporter")+"]")),
			pod(t, shop, "shop-integrations-ds-q9d4m", says("[]")),
			pod(t, shop, "shop-integrations-deploy-6f7c9d8b5-zzkqp", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
			}),
			pod(t, shop, "shop-integrations-ds-html", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, hostile)
			}),
			silent, hostilePod,
		},
		Watches: []discover.Watch{
			{Name: "", State: discover.WatchGood, Known: true, Heard: time.Now().Add(-time.Second)},
			{Name: "kube-system", State: discover.WatchForbidden,
				Error: `endpointslices.discovery.k8s.io is forbidden: User "system:serviceaccount:monitoring:sd-aggregator" cannot list resource "endpointslices" in API group "discovery.k8s.io" in the namespace "kube-system": ` + hostile},
			{Name: "team-" + long()[:50], State: discover.WatchFailing, Known: true,
				Heard: time.Now().Add(-49 * time.Hour), Error: errors.New("dial tcp 10.96.0.1:443: " + long()).Error(),
				Ignored: []string{"10.0.0.9: the port " + hostile + " is none", "fe80::1: " + long()}},
			{Name: "waits", State: discover.WatchWaiting},
		},
	}
}

// ready waits until the page says what it will go on to say.
func ready(t *testing.T, server *httptest.Server, words ...string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(server.URL + "/status.json")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close() // It was read.
		missing := ""
		for _, word := range words {
			if !strings.Contains(string(text), word) {
				missing = word
			}
		}
		if missing == "" && err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never said: %q\n%s", missing, text)
		}
	}
}

func TestThePageOfTheAggregator(t *testing.T) {
	browser := chromium(t)
	full := aggregator(t, clutter(t))
	ready(t, full, `"ready": true`, `"reason": "timeout"`, `"reason": "status"`, `"reason": "content_type"`,
		`"state": "empty"`, `foreign`)
	odd := url.QueryEscape(clutter(t).Agents[1].Owner.String())
	examine(t, browser, full, map[string]subject{
		"full": {path: "/", says: []string{hostile, "forbidden", "failing", "empty", "waiting", "v1.2.3",
			"monitoring/shop", "only 1 of 4", "status 500"}},
		"one": {path: "/?grafanaagent=monitoring/shop",
			says: []string{"monitoring/shop", "shop-integrations-ds-x7k2p"}},
		"odd": {path: "/?grafanaagent=" + odd, says: []string{hostile, "dropped 1"}},
	})
	examine(t, browser, aggregator(t, found{Synced: true}),
		map[string]subject{"empty": {path: "/", says: []string{"none"}}})
	examine(t, browser, aggregator(t, found{}),
		map[string]subject{"not ready": {path: "/", says: []string{"Not ready"}, isolated: true}})
}
