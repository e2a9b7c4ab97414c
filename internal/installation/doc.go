// Package installation makes a folder of inputs from a running installation of the Grafana Agent Operator: from what
// "kubectl get -o yaml" prints of it, or from what the package live lists.
//
// [Read] parses an export. [Installation.Files] are the inputs, without what only the API server knows: custom
// resources, the ConfigMaps that they refer to, namespaces with their labels, and ServiceAccounts with their rights. Of
// a Secret there is only a stub without values. [Installation.Compare] says what happens to the live workloads when
// what is rendered is applied.
//
// It does no I/O. Values of Secrets are used for rendering in memory, and are in no file, difference or error.
package installation
