// Package prometheus checks rendered configurations with Prometheus's own configuration
// package, and compares what the agent and Alloy make of the same objects. It is a module of
// its own, because Prometheus is a large dependency that the product does not have.
package prometheus
