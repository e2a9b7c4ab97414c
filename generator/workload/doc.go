// Package workload turns a hierarchy and its configuration into the Kubernetes objects
// that the Grafana Agent Operator v0.44.8 would have created: Secrets, the governing
// Service and one StatefulSet for each shard, the DaemonSet of logs, the Deployment and the
// DaemonSet of integrations. One object is agentry's own: the Service by which the
// sd-aggregator finds the pods of integrations.
//
// What runs in the pods is a [runtime.Runtime]: its containers, its port, how it prints the
// configuration. Nothing here knows more of it.
//
// Names, selectors, pod labels, and every byte of the pod templates are the operator's,
// so that an existing installation is adopted in place without a restart. Owner
// references are left out: there is no custom resource in the cluster to own anything.
//
// Objects are built first and checked then, against the rules by which Kubernetes would refuse
// them.
package workload
