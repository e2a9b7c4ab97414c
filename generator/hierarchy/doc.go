// Package hierarchy finds, for each GrafanaAgent, everything that its selectors
// discover: MetricsInstances with their ServiceMonitors, PodMonitors and Probes,
// LogsInstances with their PodLogs, and Integrations.
//
// The rules are the Grafana Agent Operator's: an absent selector selects nothing, an
// empty one everything; an absent namespace selector means the parent's own namespace,
// an empty one all namespaces. Namespaces need no manifest: each has at least the label
// kubernetes.io/metadata.name that the API server would give it.
//
// Results are ordered by namespace and name, whatever the order of the input.
package hierarchy
