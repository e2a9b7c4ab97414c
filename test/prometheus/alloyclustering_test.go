package prometheus

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// mostShards is how many shards are asked: no fixture has more.
const mostShards = 8

// TestClusteringScrapesWhatShardsScrape compares the pods of a cluster with the pods of shards: what one of the shards
// scrapes, each pod of the cluster finds, with the same labels, so that they can agree on who scrapes it. All other
// settings are the same.
func TestClusteringScrapesWhatShardsScrape(t *testing.T) {
	commonconfig.MarshalSecretValue = true
	defer func() { commonconfig.MarshalSecretValue = false }()
	programs, err := generator.RuntimesAt("alloy", "", true)
	if err != nil {
		t.Fatal(err)
	}
	var counted equalCounts
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		if !strings.Contains(w.text, "shards:") || w.policy != secretref.Reference {
			return
		}
		sharded, shardedErrors := w.render(t, alloy.Runtime())
		clustered, clusteredErrors := w.render(t, programs.Default)
		for unit, text := range sharded {
			if _, ok := clustered[unit]; !ok {
				continue // zones, or rules that shard
			}
			for _, problem := range alloycheck.Check([]byte(clustered[unit]), "v1.18.1") {
				t.Errorf("%s: %s: %s", w.name, unit, problem)
			}
			var shards []map[string]alloyInstance
			for shard := range mostShards {
				shards = append(shards, readAlloy(t, text, podEnv(strconv.Itoa(shard))))
			}
			e := equality{t, w.name + ": " + unit, w.text, slices.Equal(shardedErrors, clusteredErrors), &counted}
			e.cluster(shards, readAlloy(t, clustered[unit], podEnv("0")))
		}
	})
	t.Logf("%+v", counted)
	if *alloyOnly == "" && (counted.jobs < 100 || counted.kept < 500 || counted.dropped < 200) {
		t.Errorf("too few were compared: %+v", counted)
	}
}

// cluster compares what the pods of shards and those of a cluster read.
func (e equality) cluster(shards []map[string]alloyInstance, pods map[string]alloyInstance) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(shards[0])), slices.Sorted(maps.Keys(pods))); e.same && diff != "" {
		e.Errorf("%s: instances (-shards +cluster):\n%s", e.name, diff)
	}
	for name, got := range pods {
		want := shards[0][name]
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want.jobs)), slices.Sorted(maps.Keys(got.jobs))); e.same &&
			diff != "" {
			e.Errorf("%s: %s: jobs (-shards +cluster):\n%s", e.name, name, diff)
		}
		for id, job := range got.jobs {
			if !job.clustered {
				e.Errorf("%s: %s: %s is scraped by all pods", e.name, name, id)
			}
			if want.jobs[id].ScrapeConfig == nil {
				continue
			}
			var each []scrapeJob
			for _, shard := range shards {
				each = append(each, shard[name].jobs[id])
			}
			e.shared(name+": "+id, each, job)
		}
	}
}

// shared compares a job of a cluster with that of each shard.
func (e equality) shared(name string, shards []scrapeJob, got scrapeJob) {
	e.counted.jobs++
	if diff := cmp.Diff(settingsOf(e.T, shards[0]), settingsOf(e.T, got)); diff != "" {
		e.Errorf("%s: %s: settings (-shards +cluster):\n%s", e.name, name, diff)
	}
	for _, d := range e.discovered(got) {
		want, wantURL := scrapedByAny(shards, d)
		visible, url, _, _ := got.targets(d)
		if visible.IsEmpty() {
			e.counted.dropped++
		} else {
			e.counted.kept++
		}
		if !labels.Equal(want, visible) || url != wantURL {
			e.Errorf("%s: %s: discovered %v\nshards: %s %s\ncluster: %s %s", e.name, name, d, want, wantURL, visible,
				url)
			return
		}
	}
}

// scrapedByAny returns the target of the first shard that scrapes it.
func scrapedByAny(shards []scrapeJob, d model.LabelSet) (labels.Labels, string) {
	for _, shard := range shards {
		if visible, url, _, _ := shard.targets(d); !visible.IsEmpty() {
			return visible, url
		}
	}
	return labels.EmptyLabels(), ""
}
