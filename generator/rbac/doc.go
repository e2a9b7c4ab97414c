// Package rbac knows what the pods of a GrafanaAgent ask of the Kubernetes API: it computes this from what is rendered
// ([Needs]), compares it with the Roles and bindings of the inputs ([Grants]), and prints those that would do
// ([Manifests]).
//
// Pods ask for what they discover: each role of a service discovery watches certain resources, in the namespaces that
// it is limited to, and the integration eventhandler watches events. This is known exactly. Some targets, such as
// kubelets, get the token of the pod and ask for rights themselves. Only the target knows which: such a right is
// printed as likely, and never reported as missing.
//
// Rules cover needs as in the API server, by its own code. Nothing is reported if a role is not in the inputs, or if
// the cluster aggregates it from roles of its own, because its rules are not known. Discovery at another API server
// (apiServer, kubeconfig files) needs nothing here.
package rbac
