// Package integration knows the integrations of the Grafana Agent (static mode, v0.44.8, integrations-next):
// their names, where they may run, their fields, and what the agent checks when it starts. It converts the
// configuration of an Integration or a MetricsIntegration to what the agent reads, and reports what the agent
// would refuse, with the path in the configuration. docs/integrations.md is its manual.
//
// A [Catalogue] is data: what the agent's own types tell (catalogue.json, by reflection), what they do not tell
// (facts.json, by hand), and what users add ([Catalogue.Extend]). Code checks the rest: objects as a whole
// (rules), and the instance keys that the agent infers (inferences). test/agentcheck compares all of it with
// the agent's code.
//
// There is no Go type for each integration. As types, the fields would be written down three times: to decode them
// with their positions, to check them and to print them. What users add could have no type at all, and nearly all code
// treats one field like the next. The few rules about one field read it by its name. What comes out is a
// [model.Map], whose values are a closed set of types, so that a runtime cannot forget one.
//
// It does not check what only the pod can know: files, sockets, clusters, brokers. It also does not check the
// names of Azure clouds, the modules in snmp's embedded configuration, and the query classes and types of DNS
// probes.
//
// All functions are pure and deterministic. No message quotes a field of the type secret.
package integration

//go:generate go test . -run TestManualIsUpToDate -update
