// Package scrape turns one endpoint of a ServiceMonitor or PodMonitor, or one Probe,
// into one scrape job of the agent, the way the Grafana Agent Operator v0.44.8 does:
// the same keys, the same relabelling rules in the same order.
//
// An IntegrationMonitor, which the operator does not have, becomes a job that chooses from
// the targets that the sd-aggregator lists. Its selectors mean what they mean in Kubernetes.
//
// It also checks what the agent would refuse in such a job, and tells which fields are
// set but not rendered. Findings are returned as values; a job that has an error among
// them must not be used.
package scrape
