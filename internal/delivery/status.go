package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is how far a commit of an output branch has come.
type Status struct {
	// Commit is the output commit, and Pushed when it was pushed; nil if that was before the service began.
	Commit string       `json:"commit"`
	Pushed *metav1.Time `json:"pushed,omitempty"`
	// Clusters counts the clusters that are expected to apply it. Applied counts those where every reconciler has
	// applied this commit or a later one, Healthy those where all objects are ready too, and Failed those where a
	// reconciler fails.
	Clusters int `json:"clusters"`
	Applied  int `json:"applied"`
	Healthy  int `json:"healthy"`
	Failed   int `json:"failed"`
	// UnappliedUnits counts the units that changed in commits that not all their reconcilers have applied.
	UnappliedUnits int `json:"unappliedUnits"`
	// Rows has a row for each reconciler, sorted by cluster.
	Rows []Row `json:"rows"`
}

// Row is how far a commit has come with one reconciler.
type Row struct {
	Cluster    string `json:"cluster"`
	Reconciler string `json:"reconciler"`
	// Unit is the unit, or folder of units, that it applies; empty: all.
	Unit  string `json:"unit,omitempty"`
	State State  `json:"state"`
	// Message says why it failed, in the reconciler's words.
	Message string `json:"message,omitempty"`
	// Reported is when it last reported about the commit.
	Reported *metav1.Time `json:"reported,omitempty"`
	// AppliedAfter and HealthyAfter are the times from the push until the reports of it; nil if one is unknown.
	AppliedAfter *metav1.Duration `json:"appliedAfter,omitempty"`
	HealthyAfter *metav1.Duration `json:"healthyAfter,omitempty"`
	// Current is the commit that it has applied, if that is another one.
	Current string `json:"current,omitempty"`
}

// Summary returns the outcome in a few words, such as "applied in 3 of 3 clusters".
func (s Status) Summary() string {
	text := fmt.Sprintf("applied in %d of %d clusters", s.Applied, s.Clusters)
	if s.Clusters == 1 {
		text = fmt.Sprintf("applied in %d of 1 cluster", s.Applied)
	}
	if s.Failed == 0 {
		return text
	}
	failing := s.failing()
	named := failing[:min(len(failing), 3)]
	text += ", failed in " + strings.Join(named, ", ")
	if more := len(failing) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// failing returns the names of the clusters where a reconciler fails.
func (s Status) failing() (out []string) {
	for _, r := range s.Rows {
		if name := r.ClusterName(); r.State == Failed && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// ClusterName returns the name of the cluster for people.
func (r Row) ClusterName() string { return cmp.Or(r.Cluster, "a cluster without a name") }

// Status returns how far the newest commit of a pipeline has come, or false if no reconciler has reported about it.
func (s *Store) Status(pipeline string) (Status, bool) {
	if s == nil {
		return Status{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.pipelines[pipeline]
	if f == nil || len(f.reconcilers) == 0 {
		return Status{}, false
	}
	return f.status(f.pushes[0]), true
}

// Commit returns how far a commit of a pipeline has come, or false if that is unknown.
func (s *Store) Commit(pipeline, commit string) (Status, bool) {
	if s == nil {
		return Status{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.pipelines[pipeline]; f != nil && len(f.reconcilers) > 0 {
		for _, p := range f.pushes {
			if p.commit == commit {
				return f.status(p), true
			}
		}
	}
	return Status{}, false
}

// Unapplied returns, for each pipeline about which reconcilers report, how many units changed in commits that not all
// reconcilers of the unit have applied.
func (s *Store) Unapplied() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for name, f := range s.pipelines {
		if len(f.reconcilers) > 0 {
			out[name] = f.unapplied(f.pushes[0])
		}
	}
	return out
}

// unapplied counts the units that last changed in a push or before, and that not all reconcilers have applied since.
func (f *followed) unapplied(p *push) (n int) {
	for unit, number := range f.units {
		for w, r := range f.reconcilers {
			if number <= p.number && r.applied < number && w.covers(unit) {
				n++
				break
			}
		}
	}
	return n
}

// status returns how far a push has come.
func (f *followed) status(p *push) Status {
	s := Status{Commit: p.commit, Pushed: timeOf(p.at), UnappliedUnits: f.unapplied(p), Rows: []Row{}}
	for w, r := range f.reconcilers {
		s.Rows = append(s.Rows, f.row(p, w, r))
	}
	slices.SortFunc(s.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Reconciler, b.Reconciler),
			cmp.Compare(a.Unit, b.Unit))
	})
	for begin := 0; begin < len(s.Rows); {
		end := begin + 1
		for end < len(s.Rows) && s.Rows[end].Cluster == s.Rows[begin].Cluster {
			end++
		}
		s.count(s.Rows[begin:end])
		begin = end
	}
	return s
}

// count counts a cluster, which has the given rows.
func (s *Status) count(rows []Row) {
	applied, healthy, failed := 1, 1, 0
	for _, r := range rows {
		switch r.State {
		case Pushed:
			applied, healthy = 0, 0
		case Failed:
			applied, healthy, failed = 0, 0, 1
		case Applied, Superseded:
			healthy = 0
		}
	}
	s.Clusters++
	s.Applied += applied
	s.Healthy += healthy
	s.Failed += failed
}

func (f *followed) row(p *push, w who, r *reconciler) Row {
	out := Row{Cluster: w.cluster, Reconciler: w.object, Unit: w.unit, State: Pushed}
	for _, other := range f.pushes {
		if other.number == r.applied && other != p {
			out.Current = other.commit
		}
	}
	if at := p.rows[w]; at != nil {
		out.State, out.Message, out.Reported = at.state, at.message, timeOf(at.reported)
		out.AppliedAfter, out.HealthyAfter = between(p.at, at.applied), between(p.at, at.healthy)
	}
	isApplied := out.State == Applied || out.State == Healthy
	switch {
	case r.applied > p.number && !isApplied:
		out.State, out.Message = Superseded, ""
	case r.applied < p.number && isApplied: // It was taken back to an older commit.
		out.State, out.AppliedAfter, out.HealthyAfter = Pushed, nil, nil
	}
	return out
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

func between(from, to time.Time) *metav1.Duration {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	return &metav1.Duration{Duration: max(0, to.Sub(from))}
}
