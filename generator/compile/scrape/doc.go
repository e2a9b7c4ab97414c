// Package scrape turns one endpoint of a ServiceMonitor or PodMonitor, or one Probe, into one scrape job, as
// the Grafana Agent Operator v0.44.8 does: with the same keys, and the same relabelling rules in the same
// order.
//
// An IntegrationMonitor, which the operator does not have, becomes a job that selects targets of the
// sd-aggregator's list. Its selectors mean the same as in Kubernetes.
//
// The package also checks what the agent would refuse in such a job, and reports fields that are set but not
// rendered. A job with an error among its findings must not be used.
package scrape
