// Package secretref is the one place where references to keys of Secrets and
// ConfigMaps are resolved: every reference of every custom resource goes through it.
//
// What becomes of a reference is the policy's decision. Under [Plaintext] agentry does
// what the Grafana Agent Operator does: the content is written into the configuration,
// or copied into one shared Secret that all pods mount. Under [Reference] no secret
// byte is read at all: the pod mounts the cluster's own Secrets and ConfigMaps, at the
// same paths, and the few credentials for which the agent has no file field become
// environment variables.
//
// Integrations list Secrets and ConfigMaps as well, which they find as files: those are
// mounted apart, as [Volume] says.
//
// Secret bytes appear in no diagnostic and no error.
package secretref
