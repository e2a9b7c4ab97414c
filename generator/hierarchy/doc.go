// Package hierarchy finds, for each GrafanaAgent, everything that its selectors discover: MetricsInstances with their
// ServiceMonitors, PodMonitors, Probes and IntegrationMonitors, LogsInstances with their PodLogs, and integrations of
// both kinds.
//
// The rules are the Grafana Agent Operator's: an absent selector selects nothing, an empty one everything; an absent
// namespace selector means the parent's own namespace, an empty one all namespaces. Namespaces need no manifest: each
// has at least the label kubernetes.io/metadata.name that the API server would give it.
//
// An IntegrationMonitor selects its targets in the cluster, by relabelling. This package predicts the result, to warn
// about monitors that will scrape nothing.
//
// Results are ordered by namespace and name, independent of the order of the input.
package hierarchy
