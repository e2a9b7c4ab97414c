// Package fields says in one table which compatibility mode renders each field of the Prometheus Operator's API.
// [Check] finds the fields of an object that its mode does not render, so that none disappears in silence. What a
// runtime does not have, that runtime reports. The table covers the types of monitors, and what GrafanaAgents and
// MetricsInstances share with the Prometheus object; a field of another type is rendered in every mode.
package fields

//go:generate go test . -run TestManualIsUpToDate -update

import (
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Rule states the fate of some fields of one type.
type Rule struct {
	// Names are the fields, separated by spaces.
	Names string
	// Fate is the modes in which they are rendered.
	Fate Fate
	// Silent are the values that need no warning, separated by spaces: they say what happens anyway. An empty text,
	// list or map says nothing either.
	Silent string
}

// Fate is the modes in which a field is rendered.
type Fate int

const (
	// Rendered fields are rendered in both modes.
	Rendered Fate = iota
	// Current fields are rendered in mode current, and get a warning in mode operator.
	Current
	// Gone fields are from an old Prometheus, and get a warning in both modes.
	Gone
)

// found reports whether a mode has something to say about the field.
func (r *Rule) found(mode manifest.Compatibility) bool {
	return r.Fate == Gone || r.Fate == Current && mode != manifest.Current
}

// finding returns the diagnostic about a field with the rule.
func (r *Rule) finding(path string) diag.Diagnostic {
	message := "is not rendered: the Grafana Agent Operator does not know or ignores it"
	if r.Fate == Gone {
		message = "is not rendered: Prometheus has not had it since 2.11"
	}
	return diag.NotRendered.At(path, "%s", message)
}

// Check reports the fields of an object that the mode does not render.
func Check(mode manifest.Compatibility, o *manifest.Object) diag.List {
	plan := planFor(mode, o.Value())
	if plan == nil {
		return nil
	}
	w := walk{path: []byte("spec")}
	w.value(plan, specOf(o.Value()))
	return w.found
}
