// Package mirror renders what makes a Secret of another namespace available in the namespace of a GrafanaAgent, where
// its pods can mount it, although agentry reads no byte of it: an ExternalSecret, or an empty Secret that a mirroring
// controller fills. ConfigMaps are copied, because they are no secrets.
//
// Package secretref decides which Secrets are mirrored, and asks [Settings.Refusal] whether that is possible.
// Package workload renders [Settings.Objects].
package mirror
