package alive

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startAggregator starts the sd-aggregator at an address of its own, for pods that it finds by
// names in DNS.
func startAggregator(t *testing.T, ip string, names ...string) *process {
	t.Helper()
	// Agents have up to 5 s for a scrape, Prometheus below 1 s.
	args := []string{"--listen=" + ip + ":8080", "--admin-listen=" + ip + ":8081", "--poll-interval=1s",
		"--pod-timeout=1s"}
	for _, name := range names {
		args = append(args, "--dns="+name)
	}
	p := launch(t, "the sd-aggregator", ip+":8080", exec.Command(built("sd-aggregator"), args...))
	eventually(t, "the sd-aggregator is ready", func() error { return get("http://"+ip+":8081/readyz", nil) })
	return p
}

// TestPrometheusFollowsThePods lets Prometheus find integration pods through the aggregator:
// all of them, as long as they are pods, whether they answer or not.
func TestPrometheusFollowsThePods(t *testing.T) {
	t.Parallel()
	const sd, name, ip1, ip2 = "10.0.2.1", "pods.test", "10.1.2.1", "10.1.2.2"
	configs, _ := newManifests(t, "collected", "127.0.0.1:1").render(t)
	one := startPod(t, "the first pod", configs[integrations], ip1)
	two := startPod(t, "the second pod", configs[integrations], ip2)
	ofOne, ofTwo := listed(t, one), listed(t, two)
	resolve(t, name, ip1, ip2)
	aggregator := startAggregator(t, sd, "monitoring/agent="+name+":8080")
	prometheus := startPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 2s, scrape_timeout: 2s}
scrape_configs:
  - job_name: integrations
    http_sd_configs: [{url: "http://%s:8080/operator/api/v1/metrics/integrations/sd?grafanaagent=monitoring/agent", refresh_interval: 1s, follow_redirects: false}]
`, sd))
	follows := func(when string, want map[string]string) {
		t.Helper()
		eventually(t, when, func() error { return finds(prometheus.address, want) })
	}
	seesFailing := func() {
		t.Helper()
		eventually(t, "the aggregator sees a pod fail", func() error { return failing(sd, 1) })
		grows(t, prometheus, updates, 2) // What it hands on every 5 s may be old the first time.
	}

	all := both(ofOne, ofTwo)
	follows("both pods run", all)

	signal(t, two, syscall.SIGSTOP)
	seesFailing()
	follows("a pod hangs", both(ofOne, down(ofTwo)))
	signal(t, two, syscall.SIGCONT)
	follows("it goes on", all)

	two.kill()
	seesFailing()
	follows("a pod is dead", both(ofOne, down(ofTwo)))
	resolve(t, name, ip1)
	follows("it is gone", ofOne)

	aggregator.kill()
	grows(t, prometheus, failures, 2)
	follows("the aggregator is away", ofOne)
	startAggregator(t, sd, "monitoring/agent="+name+":8080")
	startPod(t, "the second pod again", configs[integrations], ip2)
	resolve(t, name, ip1, ip2)
	follows("all are back", all)
}

// listed are the targets that a pod lists itself, as up.
func listed(t *testing.T, pod *agent) map[string]string {
	t.Helper()
	groups, err := discovery(pod.address)
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) == 0 {
		t.Fatalf("%s lists no targets", pod.name)
	}
	targets := map[string]string{}
	for _, g := range groups {
		targets["http://"+g.Targets[0]+g.Labels["__metrics_path__"]] = "up"
	}
	return targets
}

func down(targets map[string]string) map[string]string {
	targets = maps.Clone(targets)
	for url := range targets {
		targets[url] = "down"
	}
	return targets
}

func both(a, b map[string]string) map[string]string {
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// finds tells how the targets of Prometheus, with their health, differ from those that it
// should have. They all tell whose they are.
func finds(prometheus string, want map[string]string) error {
	var answer struct {
		Data struct {
			ActiveTargets []struct {
				ScrapeURL, Health string
				DiscoveredLabels  map[string]string
			}
		}
	}
	if err := get("http://"+prometheus+"/api/v1/targets?state=active", &answer); err != nil {
		return err
	}
	got := map[string]string{}
	for _, target := range answer.Data.ActiveTargets {
		const owner = "__meta_agentoperator_grafanaagent_"
		if l := target.DiscoveredLabels; l[owner+"namespace"] != "monitoring" || l[owner+"name"] != "agent" {
			return fmt.Errorf("%s does not tell whose it is: %v", target.ScrapeURL, l)
		}
		got[target.ScrapeURL] = target.Health
	}
	if d := cmp.Diff(want, got); d != "" {
		return errors.New("-want +got:\n" + d)
	}
	return nil
}

// failing tells if other than n pods of the aggregator fail.
func failing(sd string, n int) error {
	var report struct {
		Agents []struct{ Pods []struct{ State string } }
	}
	if err := get("http://"+sd+":8080/status.json", &report); err != nil {
		return err
	}
	for _, a := range report.Agents {
		for _, p := range a.Pods {
			if p.State == "failing" {
				n--
			}
		}
	}
	if n != 0 {
		return fmt.Errorf("%+v", report)
	}
	return nil
}

// Counters of Prometheus.
const (
	failures = `prometheus_sd_http_failures_total`
	updates  = `prometheus_sd_updates_total{name="scrape"}`
)

// grows waits until a counter is larger than now by n.
func grows(t *testing.T, prometheus *process, name string, n int) {
	t.Helper()
	from, err := counter(prometheus, name)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, name+" grows", func() error {
		now, err := counter(prometheus, name)
		if err == nil && now < from+n {
			err = fmt.Errorf("it is %d, and was %d", now, from)
		}
		return err
	})
}

func counter(prometheus *process, name string) (int, error) {
	metrics, err := read("http://" + prometheus.address + "/metrics")
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\d+)$`).FindSubmatch(metrics)
	if found == nil {
		return 0, fmt.Errorf("Prometheus has no counter %s", name)
	}
	return strconv.Atoi(string(found[1]))
}

func signal(t *testing.T, a *agent, s os.Signal) {
	t.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
