package telemetry

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// clustering lets three pods of Alloy share the targets of the three shards, instead of the rules that shard. They
// deliver the same series, but for the labels by which shards differ, and each target once: also those that every shard
// scrapes. When a pod goes, the others and its successor scrape its targets.
func clustering(t *testing.T, w *testbed) {
	m := newRenamed(t, "shards", "clustered")
	w.apply(t, m.pass(t, "runtime: alloy", "sharding: clustering", "compatibility: operator"))
	w.runs(t, "monitoring", "clustered-", 3)
	want := ofCluster(strings.Split(strings.TrimSpace(string(read(t, filepath.Join("testdata", "shards.txt")))), "\n"))
	harness.Eventually(t, "the series of the shards", func() error {
		samples, err := delivered(`cluster="shards-clustered",__name__!~"scrape_.*"`)
		if err != nil {
			return err
		}
		return differ(want, ofCluster(lines(samples)))
	})
	targets := 0
	for _, line := range want {
		if strings.HasPrefix(line, "up{") {
			targets++
		}
	}
	harness.Eventually(t, "three pods share the targets", func() error { return w.share(targets) })

	gone := w.addressOf("monitoring", "clustered-1")
	if err := w.client.CoreV1().Pods("monitoring").Delete(t.Context(), "clustered-1", metav1.DeleteOptions{}); err !=
		nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "three pods share the targets again", func() error {
		if slices.Contains(w.addresses("monitoring", "clustered-"), gone) {
			return errors.New("the pod is not gone")
		}
		return w.share(targets)
	})
}

// ofCluster returns series without the labels by which shards and clusters differ, each once.
func ofCluster(lines []string) (out []string) {
	for _, line := range lines {
		line = regexp.MustCompile(`,?\b(shard|__replica__|cluster)="[^"]*"`).ReplaceAllString(line, "")
		line = strings.ReplaceAll(line, "{,", "{")
		out = append(out, strings.ReplaceAll(line, "serviceaccount:monitoring:clustered",
			"serviceaccount:monitoring:grafana-agent"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// share is an error if three pods do not have so many targets together, or one of them has none.
func (w *testbed) share(targets int) error {
	sum, pods := 0, w.addresses("monitoring", "clustered-")
	if len(pods) != 3 {
		return fmt.Errorf("there are %d pods", len(pods))
	}
	for _, address := range pods {
		n, err := targetsOf(address)
		if err != nil {
			return err
		}
		if sum += n; n == 0 || n == targets {
			return fmt.Errorf("%s scrapes %d of %d targets", address, n, targets)
		}
	}
	if sum != targets {
		return fmt.Errorf("the pods scrape %d targets together, not %d", sum, targets)
	}
	return nil
}

// targetsOf returns how many targets a pod scrapes, by its own metrics.
func targetsOf(address string) (sum int, err error) {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + address + ":8080/metrics")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "agent_prometheus_scrape_targets_gauge{") {
			var n int
			if _, err := fmt.Sscan(lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:], &n); err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, lines.Err()
}
