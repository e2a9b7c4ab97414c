// Package v1alpha1 holds the custom resources of monitoring.grafana.com/v1alpha1 as Go
// types: the five kinds of the Grafana Agent Operator v0.44.8 and the two of the first
// integrations RFC, which no operator ever shipped.
//
// Field names, defaults and validation come from the operator's CRDs, with one rule on top: a field that is a pointer
// here distinguishes absent from empty because the rendered output does. Types of the Prometheus Operator are used
// where today's have the shape that the operator (which was built with v0.66.0 of them) accepted; where they have grown
// since, the older shape is spelled out here.
//
// A label selector that is nil selects nothing; an empty one selects everything. A namespace
// selector that is nil selects the object's own namespace; an empty one selects all.
//
// The CRDs that are generated from these types (package crds) are what agentry validates
// its input with; they are not installed in any cluster.
//
// +groupName=monitoring.grafana.com
// +versionName=v1alpha1
// +kubebuilder:validation:Optional
package v1alpha1

//go:generate go -C ../../../internal/tools run ./generate ../.. ../..

// Group and Version of the kinds in this package; manifests write APIVersion.
const (
	Group      = "monitoring.grafana.com"
	Version    = "v1alpha1"
	APIVersion = Group + "/" + Version
)

// The kinds of this package.
const (
	GrafanaAgentKind       = "GrafanaAgent"
	MetricsInstanceKind    = "MetricsInstance"
	LogsInstanceKind       = "LogsInstance"
	PodLogsKind            = "PodLogs"
	IntegrationKind        = "Integration"
	MetricsIntegrationKind = "MetricsIntegration"
	IntegrationMonitorKind = "IntegrationMonitor"
)
