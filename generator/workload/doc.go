// Package workload turns a hierarchy and its configurations into the Kubernetes objects that the Grafana Agent
// Operator v0.44.8 would have created: Secrets, the governing Service and one StatefulSet for each shard, the
// DaemonSet of logs, the Deployment and the DaemonSet of integrations. It adds one Service of agentry's own, by
// which the sd-aggregator finds the pods of integrations.
//
// A [runtime.Runtime] defines what runs in the pods: the containers, their port, and how the configuration is printed.
// This package knows nothing else about the runtime.
//
// Names, selectors, pod labels and every byte of the pod templates are the same as the operator's, so that agentry can
// adopt an installation without restarting its pods. There are no owner references, because no custom resource in the
// cluster could be the owner.
//
// Objects are built first, and then checked with Kubernetes' rules.
package workload
