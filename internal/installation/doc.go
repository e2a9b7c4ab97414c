// Package installation makes a folder of inputs from a running installation of the Grafana Agent Operator: from the
// output of "kubectl get -o yaml", or from the objects that package live lists.
//
// [Read] parses an export. [Installation.Files] returns the inputs, without fields that only the API server sets:
// custom resources, the ConfigMaps that they refer to, namespaces with their labels, and ServiceAccounts with their
// rights. Secrets become stubs without values. [Installation.Compare] tells the effects of applying the rendered
// objects on the live workloads.
//
// It does no I/O. Values of Secrets are used for rendering in memory, and never appear in a file, difference or error.
package installation
