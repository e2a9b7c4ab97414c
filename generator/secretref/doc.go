// Package secretref resolves all references from custom resources to keys of Secrets and ConfigMaps. No other
// package does.
//
// The secrets policy decides how a reference is rendered. Under [Plaintext] agentry does the same as the Grafana Agent
// Operator: the content is written into the configuration, or copied into one shared Secret that all pods mount. Under
// [Reference] no byte of a Secret is read: the pod mounts the cluster's own Secrets and ConfigMaps at the same paths,
// and the few credentials for which the agent has no file field become environment variables. Rules give individual
// Secrets a policy other than the default ([Policies]).
//
// Integrations also list Secrets and ConfigMaps that they read as files. Each of these is mounted as a [Volume].
//
// No diagnostic and no error contains a byte of a Secret.
package secretref
