// Package podspec says what integrations add to the pods in which they run: volumes and
// mounts of their own, and the files that they list in spec.secrets and spec.configMaps.
//
// It merges them as the Grafana Agent Operator v0.44.8 does, in its order, and blames the
// integration for what Kubernetes would refuse in its pod, so that it alone is left out. Names of volumes that Kubernetes would refuse, or that two would
// share, are changed; nothing else is.
package podspec
