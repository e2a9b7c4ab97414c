// Package mirror renders objects that make a Secret of another namespace available in the namespace of a GrafanaAgent,
// where its pods can mount it, without reading any byte of it: an ExternalSecret, or an empty Secret that a mirroring
// controller fills. ConfigMaps are not secret, and are copied.
//
// Package secretref decides which Secrets are mirrored, and asks [Settings.Refusal] whether that is possible.
// Package workload renders [Settings.Objects].
package mirror
