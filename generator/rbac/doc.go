// Package rbac computes the rights that the pods of a GrafanaAgent need in the Kubernetes API ([Needs]), compares them
// with the Roles and bindings in the inputs ([Grants]), and prints sufficient Roles and bindings ([Manifests]).
//
// Pods need what they discover: each role of a service discovery watches certain resources in the namespaces that it
// is limited to, and the integration eventhandler watches events. This is known exactly. Some targets, such as
// kubelets, receive the pod's token and check rights themselves. Only the target knows which: such a right is printed
// as likely, and never reported as missing.
//
// Rules cover needs by the API server's own code. Nothing is reported if a role is not in the inputs, or if the
// cluster aggregates it from roles of its own, because its rules are unknown. Discovery at another API server
// (apiServer, kubeconfig files) needs no rights here.
package rbac
