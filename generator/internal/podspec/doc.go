// Package podspec computes what integrations add to the pods that they run in: their own volumes and mounts,
// and the files that they list in spec.secrets and spec.configMaps.
//
// It merges them in the same order as the Grafana Agent Operator v0.44.8. What Kubernetes would refuse is an
// error of the integration that asks for it, so that only this integration is left out. Volume names are
// changed where Kubernetes would refuse them or where two volumes would share one; nothing else is changed.
package podspec
