package difference

import (
	"strings"
)

// sameTargets returns the number of jobs that two lists have in common, and the number of these that find the same
// targets with equal discoveries and rules and scrape them at the same addresses and times. Equivalent but differently
// written settings count as different.
func sameTargets(before, after []*node) (all, same int) {
	others := make(map[string]*node, len(after))
	for _, job := range after {
		others[job.nameBy("job_name")] = job
	}
	for _, job := range before {
		other := others[job.nameBy("job_name")]
		if other == nil {
			continue
		}
		all++
		if job.job != nil && other.job != nil && job.job.IsSame(other.job) || targetsOf(job) == targetsOf(other) {
			same++
		}
	}
	return all, same
}

// targetsOf returns a text that is equal for jobs that find equal targets.
func targetsOf(job *node) string {
	found := &node{shape: mapping}
	for _, f := range job.read().fields {
		switch f.name {
		case "metrics_path", "scheme", "scrape_interval", "scrape_timeout", "params", "static_configs",
			"relabel_configs":
			found.fields = append(found.fields, f)
		default:
			if strings.HasSuffix(f.name, "_sd_configs") {
				found.fields = append(found.fields, f)
			}
		}
	}
	return fingerprint(found)
}
