// Package integration knows the integrations of the Grafana Agent (static mode, v0.44.8,
// integrations-next): what they are called, where they may run, which fields they have
// and what the agent checks while it starts. It turns the configuration of an Integration
// or a MetricsIntegration into what the agent reads, and reports what the agent would
// refuse, with the place inside the configuration. docs/integrations.md is its manual.
//
// A [Catalogue] is data: what the agent's own types say (catalogue.json, by reflection),
// what they do not say (facts.json, by hand), and what users add ([Catalogue.Extend]).
// Beyond that there are rules for objects as a whole (rules) and for the instance keys
// that the agent infers (inferences). test/agentcheck holds all of it to the agent's code.
//
// What only the pod can tell is not checked: files, sockets, clusters, brokers. Nor are
// the names of Azure clouds, the modules in snmp's embedded configuration, and query
// classes and types of DNS probes.
//
// Everything is a pure function of its arguments, and deterministic. No message quotes a
// field of type secret.
package integration

//go:generate go test . -run TestManualIsUpToDate -update
