// Package handwritten checks scrape configurations that users wrote by hand: Prometheus' for MetricsInstances, and
// Promtail's for LogsInstances. One mistake in them makes the agent refuse its whole configuration.
//
// schema.json describes the agent's own types (v0.44.8, by reflection, see test/agentcheck/catalogue). The additional
// requirements of the agent's code are in constraints.go and in the rules. Package stages checks pipeline stages.
//
// The configurations come from Secrets. Findings name a line, and quote nothing except names of fields and values
// that the agent itself knows.
//
// Values with variables are not checked, because only the pod's environment knows them. Files, brokers, and whether
// the Kubernetes API or a cloud answers are not checked either.
package handwritten
