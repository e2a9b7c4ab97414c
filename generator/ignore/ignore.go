// Package ignore says which objects are meant for no GrafanaAgent of the inputs, so that it is no mistake that none
// selects them: those with the annotation agentry.dev/ignore, and those in files that the pipeline names. Each has a
// reason, for whoever asks later why nobody collects it.
//
// To ignore an object changes nothing that is rendered: if a selector chooses it, it is rendered. It silences no other
// finding either, because the object is still read, and a mistake in it is one in any cluster.
package ignore

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Annotation is the annotation of an object that is ignored. Its value is the reason.
const Annotation = manifest.IgnoreAnnotation

// Rule ignores the objects of some files.
type Rule struct {
	// Paths are folders or files from the top of their repository, such as `apps/legacy`. `*` is any name, `**` are any
	// folders. A kustomization or chart in them that nothing else builds counts for all that it builds.
	Paths []string `json:"paths"`
	// Reason says why no GrafanaAgent of the inputs is meant to select the objects.
	Reason string `json:"reason"`
}

// Rules are the rules of a pipeline. The first that matches an object counts.
type Rules []Rule

// Reason returns why an object is ignored. It is empty for an object that is not, also for one whose annotation gives
// no reason. The annotation counts before the rules.
func (r Rules) Reason(o *manifest.Object) string {
	if reason := strings.TrimSpace(o.Annotations[Annotation]); reason != "" || len(r) == 0 {
		return reason
	}
	files := []string{inRepository(o.WrittenFile()), inRepository(o.File())}
	for _, rule := range r {
		for _, pattern := range rule.Paths {
			if slices.ContainsFunc(files, func(file string) bool { return manifest.IsWithin(pattern, file) }) {
				return rule.Reason
			}
		}
	}
	return ""
}

// Unused returns the patterns that no file of the objects matches, in order.
func (r Rules) Unused(objects []*manifest.Object) (out []string) {
	for _, rule := range r {
		for _, pattern := range rule.Paths {
			if !slices.ContainsFunc(objects, func(o *manifest.Object) bool {
				return manifest.IsWithin(pattern, inRepository(o.File())) ||
					manifest.IsWithin(pattern, inRepository(o.WrittenFile()))
			}) {
				out = append(out, pattern)
			}
		}
	}
	return out
}

// inRepository returns the path of a file in its own repository: that of another source begins with @ and its name.
func inRepository(file string) string {
	if mount, rest, ok := strings.Cut(file, "/"); ok && strings.HasPrefix(mount, "@") {
		return rest
	}
	return file
}

// LacksReason reports whether an object has the annotation without a reason.
func LacksReason(o *manifest.Object) bool {
	reason, has := o.Annotations[Annotation]
	return has && strings.TrimSpace(reason) == ""
}
