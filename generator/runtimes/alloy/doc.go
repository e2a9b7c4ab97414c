// Package alloy is Grafana Alloy (v1.18) as a runtime: it prints a model as a file of Alloy's own components, which
// discover, scrape and send without a right to read custom resources or Secrets.
//
// Components are as few as a fleet allows, because each costs memory and a place in the queue of updates:
//
//   - discovery.kubernetes for each distinct service discovery: Prometheus shares equal ones too.
//   - discovery.relabel for each endpoint of a monitor. Prometheus gives targets some labels before its rules and a
//     port after them; here these are rules before and after those of the endpoint.
//   - prometheus.scrape for each distinct set of credentials, limits and rules for samples of an instance. What
//     differs between its endpoints beyond that (job, path, scheme, parameters, interval, timeout) is in labels of the
//     targets.
//   - prometheus.relabel for each distinct list of rules for samples. The samples that describe a scrape (up and
//     others) pass it by, as in Prometheus.
//   - prometheus.remote_write for each instance.
//   - local.file_match, loki.source.file and loki.process for each PodLogs of an instance: the positions of a file that
//     is read belong to a component, so that it must not be shared.
//   - loki.write for each client of an instance, because external labels belong to a component.
//
// Printing is deterministic: names of components depend on what they stand for, and on nothing else.
package alloy
