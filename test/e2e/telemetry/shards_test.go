package telemetry

import (
	"maps"
	"testing"
)

// shards follows monitors of every kind through three shards to stored series, and one that comes
// while the agents run.
func shards(t *testing.T, w *world) {
	m := newManifests(t, "shards")
	w.apply(t, m.render(t))
	w.runs(t, "monitoring", "agent-", 3)
	golden(t, "shards.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="shards",job!="late",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	sharesWork(t)

	before, err := w.starts("monitoring", "agent-")
	if err != nil {
		t.Fatal(err)
	}
	m.add(t, "late/late.yaml")
	w.apply(t, m.render(t))
	golden(t, "late.txt", func() ([]string, error) {
		samples, err := delivered(`cluster="shards",job="late",__name__!~"scrape_.*"`)
		return lines(samples), err
	})
	if after, err := w.starts("monitoring", "agent-"); err != nil || !maps.Equal(before, after) {
		t.Errorf("the agents had started %v\nand after a new monitor %v, %v", before, after, err)
	}
}

// sharesWork holds targets to one shard each, but for those of probes, which all of them have, and
// each shard to some targets.
func sharesWork(t *testing.T) {
	t.Helper()
	ups, err := delivered(`cluster="shards",__name__="up"`)
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
