package difference

import (
	"slices"
	"strconv"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// changesProgram reports whether the configuration of another program replaces the present one.
func (o *object) changesProgram() bool {
	return o.changesConfiguration() && o.before != nil && o.after != nil &&
		o.before.get(agentKey) != nil != (o.after.get(agentKey) != nil)
}

// programs adds the consequences of running another program, as far as the configurations show them. It also counts,
// for each instance, the jobs that find the same targets. docs/alloy-reference.md explains each consequence.
func (u *unit) programs(o *object, jobs map[string]*[2]int) {
	before, after := o.before.get(agentKey), o.after.get(agentKey)
	fromAgent := before != nil
	if fromAgent {
		after = o.after.get(alloyKey)
	} else {
		before = o.before.get(alloyKey)
	}
	names := "agent_ → alloy_"
	if !fromAgent {
		names = "alloy_ → agent_"
	}
	for _, workload := range u.podsWith(o.ID.Name) {
		u.findPods(OwnMetrics, workload, names)
	}
	isNew := u.hasPrometheus3(o.ID.Name)
	for _, old := range before.list("metrics", "configs") {
		now := named(after.list("metrics", "configs"), old.str("name"))
		if now == nil {
			continue
		}
		subject := "instance " + old.str("name")
		u.find(DataLeft, subject, "samples that are not sent when a pod stops")
		all, same := u.jobs(subject, old.list("scrape_configs"), now.list("scrape_configs"))
		if all == 0 {
			continue
		}
		if isNew {
			u.find(SeriesIdentity, subject,
				"labels le and quantile that are whole numbers, as in le=\"1\" and le=\"1.0\"")
		}
		if jobs[subject] == nil {
			jobs[subject] = &[2]int{}
		}
		jobs[subject][0] += same
		jobs[subject][1] += all
	}
	for _, old := range before.list("logs", "configs") {
		subject := "logs instance " + old.str("name")
		for _, job := range old.list("scrape_configs") {
			if slices.ContainsFunc(job.list("pipeline_stages"), func(s *node) bool { return s.get("metrics") != nil }) {
				u.find(SeriesIdentity, subject+within+"job "+job.str("job_name"),
					"labels logs_config, component_id and component_path of metrics of its stages")
			}
		}
		if now := named(after.list("logs", "configs"), old.str("name")); now != nil {
			u.jobs(subject, old.list("scrape_configs"), now.list("scrape_configs"))
		}
		if !fromAgent || !isNew {
			u.find(DataLeft, subject, "positions in log files: lines are sent again")
		}
	}
}

// podsWith returns the workloads whose pods use the configuration in a Secret.
func (u *unit) podsWith(secret string) (out []manifest.ID) {
	for _, o := range u.objects {
		if o.Before.Text != nil && workload.ConfigSecret(o.pods(1)) == secret {
			out = append(out, o.ID)
		}
	}
	return out
}

var alloyImage = lazyregexp.New(`/alloy:v1\.(\d+)\.`)

// prometheus3 is the first minor version of Alloy 1 that contains Prometheus 3, which writes whole numbers in the
// labels le and quantile as floats. It is also the first version that takes over the agent's positions in log files.
const prometheus3 = 11

// hasPrometheus3 reports whether the pods with a configuration run such a version, judging by the image of one of
// them. An image without a version counts as such.
func (u *unit) hasPrometheus3(secret string) bool {
	for _, o := range u.objects {
		for side := range o.versions() {
			pods := o.pods(side)
			if workload.ConfigSecret(pods) != secret {
				continue
			}
			for _, c := range pods.Spec.Containers {
				if m := alloyImage.FindStringSubmatch(c.Image); m != nil {
					minor, err := strconv.Atoi(m[1])
					return err != nil || minor >= prometheus3
				}
			}
		}
	}
	return true
}

// named returns the item with a name, or nil.
func named(items []*node, name string) *node {
	i := slices.IndexFunc(items, func(n *node) bool { return n.str("name") == name })
	if i < 0 {
		return nil
	}
	return items[i]
}
