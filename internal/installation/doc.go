// Package installation reads what "kubectl get -o yaml" prints of a running installation of the Grafana Agent Operator, and
// makes a folder of inputs from it.
//
// [Read] parses the export. [Installation.Files] are the inputs, without what only the API server knows: custom resources, the
// ConfigMaps that they refer to, namespaces with their labels, and ServiceAccounts with their rights. Of a Secret there is
// only a stub without values. [Installation.Compare] says what happens to the live workloads when what is rendered is applied.
//
// It does no I/O. Values of Secrets are used for rendering in memory, and are in no file, difference or error.
package installation
