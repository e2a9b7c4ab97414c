package difference

import "strings"

// jobs adds the jobs that both programs run with different settings, and returns the number of the jobs that both run,
// and the number of these that find the same targets with equal discoveries and rules and scrape them at the same
// addresses and times. Equivalent but differently written settings count as different.
func (u *unit) jobs(subject string, before, after []*node) (all, same int) {
	others := make(map[string]*node, len(after))
	for _, job := range after {
		others[job.nameBy("job_name")] = job
	}
	for _, job := range before {
		name := job.nameBy("job_name")
		other := others[name]
		if other == nil {
			continue
		}
		all++
		hasSameTargets := true
		for _, field := range differentFields(job, other) {
			hasSameTargets = hasSameTargets && !findsTargets(field)
			u.find(JobsDiffer, subject+within+"job "+name, field)
		}
		if hasSameTargets {
			same++
		}
	}
	return all, same
}

// differentFields returns the names of the fields in which the jobs of two programs differ. Jobs that are made of equal
// values can: one of the programs lacks some fields.
func differentFields(job, other *node) (names []string) {
	before, after := byName(job.read().fields), byName(other.read().fields)
	for _, name := range fieldNames(job, other) {
		if b, a := before[name], after[name]; b == nil || a == nil || fingerprint(b) != fingerprint(a) {
			names = append(names, name)
		}
	}
	return names
}

// findsTargets reports whether a field of a job decides which targets it finds, or where and when it scrapes them.
func findsTargets(field string) bool {
	switch field {
	case "metrics_path", "scheme", "scrape_interval", "scrape_timeout", "params", "static_configs", "relabel_configs":
		return true
	}
	return strings.HasSuffix(field, "_sd_configs")
}
