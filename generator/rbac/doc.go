// Package rbac knows what the pods of a GrafanaAgent ask of the Kubernetes API: it computes this from what is rendered
// ([Needs]), compares it with the Roles and bindings of the inputs ([Grants]), and prints those that would do ([Manifests]).
//
// Pods ask for what they discover: each role of a service discovery watches certain resources, in the namespaces that it is
// limited to, and the integration eventhandler watches events. This is known exactly. What a target wants that gets the
// token of the pod, such as a kubelet, only the target knows: such a need is likely, and never missed.
//
// Rules cover needs as in the API server, by its own code. Of a role that is not in the inputs nothing is known, nor of one
// that the cluster aggregates from roles of its own: then nothing is reported. Discovery at another API server
// (apiServer, kubeconfig files) needs nothing here.
package rbac
