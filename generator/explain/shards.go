package explain

import (
	"path"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Shards is how many series the shards of a GrafanaAgent can take, by Grafana's rule of thumb ("Estimate resource
// usage" in the documentation of the agent and of Alloy): 11 GiB of memory for a million active series. From a million
// on, Grafana advises to have more shards.
type Shards struct {
	Count int `json:"count"`
	// Jobs are the scrape jobs. Each shard has all of them, and its part of their targets.
	Jobs int `json:"jobs"`
	// MemoryBytes is the memory that the agent of each may use, as its pods are rendered: limits.memory, else
	// requests.memory. 0: neither is set. If patches make shards differ, it is the least.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	// Series is how many active series they can take together, and SeriesPerJob the same for each job on average. 0:
	// that depends on the memory.
	Series       int64 `json:"series,omitempty"`
	SeriesPerJob int64 `json:"seriesPerJob,omitempty"`
}

const (
	bytesPerSeries = 11 << 30 / 1_000_000
	maxSeries      = 1_000_000
	gib            = 1 << 30
)

// shardsOf estimates how many series the shards of a GrafanaAgent can take, or returns nil if it has no jobs in metrics
// pods. memory has an entry for each shard.
func shardsOf(o *manifest.Object, files []FileSize, memory []int64) *Shards {
	if o.Kind != v1alpha1.GrafanaAgentKind || len(memory) == 0 {
		return nil
	}
	out := &Shards{Count: len(memory)}
	for _, f := range files {
		// other pods have a longer name before -config, and a large configuration has several parts
		name := path.Base(f.Path)
		if strings.HasPrefix(name, o.Name+"-config.") || strings.HasPrefix(name, o.Name+"-config-") {
			out.Jobs += f.Jobs
		}
	}
	if out.Jobs == 0 {
		return nil
	}
	if out.MemoryBytes = slices.Min(memory); out.MemoryBytes <= 0 {
		out.MemoryBytes = 0
		return out
	}
	out.Series = int64(out.Count) * min(out.MemoryBytes/bytesPerSeries, maxSeries) / 1000 * 1000
	out.SeriesPerJob = out.Series / int64(out.Jobs)
	return out
}

// shards writes how many series the shards can take.
func (p *printer) shards(s *Shards) {
	if s == nil {
		return
	}
	if s.Series == 0 {
		p.line(1, "%s: each can take about %d active series for each GiB of its memory, which nothing limits",
			amount(s.Count, "shard"), gib/bytesPerSeries/1000*1000)
		return
	}
	p.line(1, "%s with %.3g GiB of memory: about %d active series in all, which are %d for each of %s",
		amount(s.Count, "shard"), float64(s.MemoryBytes)/gib, s.Series, s.SeriesPerJob, amount(s.Jobs, "job"))
}
