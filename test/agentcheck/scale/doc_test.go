// Package scale compares the Grafana Agent in static mode with its Flow mode, the ancestor of Alloy, where both scrape
// the same many targets: "make bench-agents". Each runs what agentry renders of the same ServiceMonitors, in 50
// namespaces of an API server that is only as real as agents need. Its benchmarks print how long it takes until every
// target is up and stored, the memory and the watches that it takes, and the size of the agent's own metrics. They fail
// if a target does not get up, or if the agent loses the updates of targets.
package scale
