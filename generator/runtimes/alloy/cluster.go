package alloy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// clusterArgs returns the flags by which pods find each other. Alloy's chart has the same ones; the name of the cluster
// is added, because the address of a pod may soon belong to a pod of another cluster.
func clusterArgs(p runtimes.Pod) []string {
	if p.Cluster == "" {
		return nil
	}
	return []string{
		"--cluster.enabled=true",
		"--cluster.join-addresses=" + p.Cluster,
		"--cluster.name=" + p.Namespace + "/" + p.Agent,
	}
}

// clustering returns the block by which the pods share the targets of a component.
func clustering() syntax.Block {
	b := syntax.Block{Name: "clustering"}
	b.Set("enabled", syntax.Bool(true))
	return b
}

// replicas reports that pods which share targets are not replicas.
func replicas(spec *v1alpha1.GrafanaAgentSpec) diag.List {
	set := spec.Metrics.Replicas
	if set == nil || *set <= 1 {
		return nil
	}
	return diag.List{{
		Severity: diag.Warning, Code: diag.RuntimeDiffers, Path: "spec.metrics.replicas",
		Message: fmt.Sprintf(
			"with Alloy's clustering, all replicas of all shards share the targets: each is scraped by one pod, not "+
				"by %d. Multiply the shards instead, or write sharding: rules in the pipeline", *set),
	}}
}

// ofOnePod matches a reference to a variable whose value differs between the pods of a cluster, in both forms.
var ofOnePod = lazyregexp.New(`\$[({](POD_NAME|STATEFULSET_ORDINAL_NUMBER)[:})]`)

// ofOneShard matches a reference to the number of a shard, in both forms.
var ofOneShard = lazyregexp.New(`\$[({]SHARD[:})]`)

// clustered returns instances whose pods share their targets. Samples must not tell which pod sends them: a series
// would end when its target moves, and a destination that keeps the samples of one replica would drop the samples of
// all other pods.
func (f *findings) clustered(c *model.Config, m *model.Metrics) {
	m.Clustered = true
	if label := m.Global.ReplicaLabel; label != "" {
		m.Global.ReplicaLabel = ""
		f.Add(c.Origin.Place(diag.RuntimeDiffers.At("spec.metrics.replicaExternalLabelName", "%s",
			"with Alloy's clustering, samples do not get the label "+label+": they come from any of the pods").
			As(diag.Info)))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Global.ExternalLabels)) {
		if ofOnePod.MatchString(m.Global.ExternalLabels[name]) {
			f.Add(c.Origin.Place(diag.RuntimeDiffers.At("spec.metrics.externalLabels["+name+"]",
				"differs between pods: with Alloy's clustering, the series of a target end and others begin when the "+
					"target moves to another pod")))
		}
	}
}

// ownShards refuses a job that shards its targets itself: all pods have the same number.
func (f *findings) ownShards(job *model.ScrapeConfig) {
	if slices.ContainsFunc(job.Relabel, func(r *model.Relabel) bool { return ofOneShard.MatchString(r.Regex.Value) }) {
		f.Add(job.Origin.Place(diag.NotInRuntime.At(".relabelings",
			"a rule compares SHARD, which is 0 in all pods with Alloy's clustering: leave out the rules that shard, "+
				"each target is scraped by one pod")))
	}
}
