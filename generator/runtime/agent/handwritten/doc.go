// Package handwritten checks scrape configurations that users wrote by hand: those of
// Prometheus for MetricsInstances and those of Promtail for LogsInstances. An agent that
// meets a mistake in one of them refuses its whole configuration.
//
// schema.json is what the agent's own types say (v0.44.8, by reflection, see
// test/agentcheck/catalogue); what its code demands beyond types stands in constraints.go and in
// the rules. Pipeline stages are held to the rules of package stage.
//
// The configurations come from Secrets. Findings say where by a line, and no message holds
// any of the text but names of fields and values that the agent itself knows.
//
// Values with variables in them are not judged: only the pod's environment knows what they
// are. Nor is what only the pod can tell: files, brokers, and whether the Kubernetes API or
// a cloud answers.
package handwritten
