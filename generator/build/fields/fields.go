// Package fields says what becomes of each field of the Prometheus Operator's API, in one table: which compatibility
// mode renders it, or why none does. [Check] finds the fields of an object that its mode does not render, so that none
// disappears in silence. The table covers the types of monitors, and what GrafanaAgents and MetricsInstances share with
// the Prometheus object; a field of another type is rendered in every mode.
package fields

//go:generate go test . -run TestManualIsUpToDate -update

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// Rule says what becomes of some fields of one type.
type Rule struct {
	// Names are the fields, separated by spaces.
	Names string
	// Fate is what becomes of them.
	Fate Fate
	// Since is the first Prometheus that has them, if no agent has.
	Since string
	// Silent are the values that need no warning, separated by spaces: they say what happens anyway. An empty text, list
	// or map says nothing either.
	Silent string
	// Only are the values that the rule is about, separated by spaces: others are rendered.
	Only string
	// Why says what would go wrong without them, if they are refused.
	Why string
}

// Fate is what becomes of a field.
type Fate int

const (
	// Rendered fields are rendered in both modes.
	Rendered Fate = iota
	// Current fields are rendered in mode current, and get a warning in mode operator.
	Current
	// Dropped fields only tune what no agent can do. They get a warning.
	Dropped
	// Refused fields decide what is scraped or how it is authenticated, and no agent has them. They are an error of the
	// object in mode current, and get a warning in mode operator.
	Refused
)

// concerns reports whether a rule is about a value, of which text is "" unless it is a scalar.
func (r *Rule) concerns(text string) bool {
	if r.Only != "" {
		return slices.Contains(strings.Fields(r.Only), text)
	}
	return !slices.Contains(strings.Fields(r.Silent), text)
}

// found reports whether a mode has something to say about the field.
func (r *Rule) found(mode manifest.Compatibility) bool {
	return r.Fate != Rendered && (r.Fate != Current || mode != manifest.Current)
}

// Finding returns what a mode says about a field with the rule.
func (r *Rule) finding(mode manifest.Compatibility, path string) diag.Finding {
	out := diag.Finding{Severity: diag.Warning, Code: diag.NotRendered, Path: path}
	const none = "no Grafana Agent has it: it came with Prometheus %s, and the agent's is 2.48.1"
	switch {
	case r.Fate == Current:
		out.Message = "is not rendered: the Grafana Agent Operator does not know or ignores it"
	case r.Fate == Refused && mode == manifest.Current:
		out.Severity, out.Code = diag.Error, diag.NeedsNewerPrometheus
		out.Message = fmt.Sprintf(none+"; without it %s", r.Since, r.Why)
	case r.Since == "":
		out.Message = "is not rendered: no Grafana Agent has it, and no Prometheus has it any more"
	default:
		out.Message = fmt.Sprintf("is not rendered: "+none, r.Since)
	}
	return out
}

// Check returns what the mode does not render of an object.
func Check(mode manifest.Compatibility, o *manifest.Object) []diag.Finding {
	plan := planFor(mode, o.Value)
	if plan == nil {
		return nil
	}
	w := walk{mode: mode, path: []byte("spec")}
	w.value(plan, specOf(o.Value))
	return w.found
}
