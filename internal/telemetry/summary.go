package telemetry

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

// summary has the parts of a report that metrics need.
type summary struct {
	ready    bool
	findings map[diag.Severity]int
	units    map[plan.UnitState]int
	files    int
	held     map[heldKey]int
	since    map[string]time.Time // the oldest, by unit
	commits  map[sourceKey]string
	stale    map[sourceKey]bool
}

type heldKey struct{ unit, kind string }

type sourceKey struct{ url, ref string }

func summarise(r *gitsync.Report) *summary {
	s := &summary{
		ready:    r.Ready().Status == metav1.ConditionTrue,
		findings: map[diag.Severity]int{}, units: map[plan.UnitState]int{},
		held: map[heldKey]int{}, since: map[string]time.Time{},
		commits: map[sourceKey]string{}, stale: map[sourceKey]bool{},
	}
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		s.findings[severity] = r.Diags.Count(severity)
	}
	for _, u := range r.Units {
		s.units[u.State]++
		s.files += u.Files
	}
	s.countHeld(r.Held)
	for _, src := range r.Sources {
		// A ref counts once even if a pipeline reads it twice with different paths.
		k := sourceKey{src.URL, src.Ref}
		s.commits[k], s.stale[k] = src.Commit, s.stale[k] || src.Stale
	}
	return s
}

// countHeld counts an object in each of its units.
func (s *summary) countHeld(objects []plan.HeldObject) {
	for _, h := range objects {
		units := h.Units
		if len(units) == 0 {
			units = []string{""}
		}
		for _, u := range units {
			s.held[heldKey{u, h.Object.Kind}]++
			if known, ok := s.since[u]; h.Since.Commit != "" && (!ok || h.Since.Date.Before(known)) {
				s.since[u] = h.Since.Date
			}
		}
	}
}
