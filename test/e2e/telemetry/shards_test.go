package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// shards follows monitors of every kind through three shards to stored series, and one that comes
// while the agents run. Alloy delivers the same, and so it is after pods have come and gone.
func shards(t *testing.T, w *testbed) {
	m, next := newManifests(t, "shards"), newSuccessor(t, "shards")
	w.apply(t, m.render(t))
	w.apply(t, next.render(t, "operator"))
	w.runs(t, "monitoring", "agent-", 3)
	w.runs(t, "monitoring", "successor-", 3)
	golden(t, "shards.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="shards",job!="late",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	sameSeries(t, "shards.txt", `cluster="shards-successor",job!="late",__name__!~"scrape_.*"`)
	sharesWork(t, "shards")
	sharesWork(t, "shards-successor")

	before := w.startsOf(t, "monitoring", "agent-", "successor-")
	m.add(t, "late/late.yaml")
	w.apply(t, m.render(t))
	next.add(t, "late/late.yaml")
	w.apply(t, next.render(t, "operator"))
	golden(t, "late.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="shards",job="late",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	sameSeries(t, "late.txt", `cluster="shards-successor",job="late",__name__!~"scrape_.*"`)
	w.replacesPods(t)
	if after := w.startsOf(t, "monitoring", "agent-", "successor-"); !maps.Equal(before, after) {
		t.Errorf("the agents had started %v\nand after a new monitor %v", before, after)
	}
}

// startsOf is how often the containers of pods started whose names have one of the prefixes.
func (w *testbed) startsOf(t *testing.T, namespace string, prefixes ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, prefix := range prefixes {
		starts, err := w.starts(namespace, prefix)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, starts)
	}
	return all
}

// replacesPods lets a pod take the place of another. Agents of both kinds stop scraping the one, scrape the other, and
// end the series of what is gone.
func (w *testbed) replacesPods(t *testing.T) {
	t.Helper()
	pods := w.client.CoreV1().Pods("late")
	old, err := pods.Get(t.Context(), "late-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	app := old.Spec.Containers[0]
	app.VolumeMounts = nil // The API server adds some.
	next := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{app}}}
	next.Labels, next.Annotations = old.Labels, map[string]string{addressAnnotation: "10.1.4.9"}
	if err := pods.Delete(t.Context(), old.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(t, next, "late-3", "late")
	for _, cluster := range []string{"shards", "shards-successor"} {
		harness.Eventually(t, cluster+" follow the pods", func() error {
			now, err := current(fmt.Sprintf(`cluster=%q,job="late",__name__=~"up|number"`, cluster))
			if err != nil {
				return err
			}
			var got []string
			for _, s := range now {
				got = append(got, s.labels["__name__"]+" "+s.labels["pod"]+" "+s.labels["instance"]+" "+s.value)
			}
			slices.Sort(got)
			return differ([]string{
				"number late-1 10.1.5.2:8080 2", "number late-2 10.1.6.7:8080 7", "number late-3 10.1.4.9:8080 9",
				"up late-1 10.1.5.2:8080 1", "up late-2 10.1.6.7:8080 1", "up late-3 10.1.4.9:8080 1",
			}, got)
		})
	}
}

// sharesWork holds targets to one shard each, but for those of probes, which all of them have, and
// each shard to some targets.
func sharesWork(t *testing.T, cluster string) {
	t.Helper()
	ups, err := delivered(fmt.Sprintf(`cluster=%q,__name__="up"`, cluster))
	if err != nil {
		t.Fatal(err)
	}
	shards, alone := map[string]int{}, map[string]bool{}
	for _, up := range ups {
		shard := up.labels["shard"]
		delete(up.labels, "shard")
		shards[up.String()]++
		if up.labels["pod"] != "" {
			alone[shard] = true
		}
	}
	for _, up := range ups {
		want := 1
		if up.labels["pod"] == "" {
			want = 3
		}
		if got := shards[up.String()]; got != want {
			t.Errorf("%d shards, not %d, scrape %s", got, want, up)
		}
	}
	if len(alone) != 3 {
		t.Errorf("only the shards %v have targets of their own", alone)
	}
}
