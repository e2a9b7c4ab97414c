// Package workload turns a hierarchy and its configurations into the Kubernetes objects that the Grafana Agent
// Operator v0.44.8 would have created: Secrets, the governing Service and one StatefulSet for each shard, the
// DaemonSet of logs, the Deployment and the DaemonSet of integrations. It adds one Service of agentry's own, by
// which the sd-aggregator finds the pods of integrations.
//
// A [runtime.Runtime] says what runs in the pods: the containers, their port, and how the configuration is
// printed. This package knows nothing else about the runtime.
//
// Names, selectors, pod labels and every byte of the pod templates are the operator's, so that agentry can take
// over an installation without a restart of its pods. There are no owner references, because the cluster has no
// custom resource that could be the owner.
//
// Objects are built first, and then checked by Kubernetes' rules for them.
package workload
