package replica

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Status is the state of a replica's share, for people and metrics.
type Status struct {
	Identity string `json:"identity"`
	// Term is what this replica's Leases are held as; empty if it is not registered.
	Term string `json:"term,omitempty"`
	// Registered says that the term stands: this replica may do what others see.
	Registered bool `json:"registered"`
	// Replicas are the identities of all members, sorted.
	Replicas []string `json:"replicas"`
	// Slices is how many this replica runs, Free how many nobody holds, Of how many there are.
	Slices int `json:"slices"`
	Free   int `json:"free"`
	Of     int `json:"of"`
	// Waiting are triggers that are not handed on yet.
	Waiting int `json:"waiting"`
	// Troubles say what does not work at the moment.
	Troubles []string `json:"troubles,omitempty"`
}

// Status says how things are.
func (r *Replica) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Status{Identity: r.options.Identity, Term: r.term, Registered: r.stands(), Of: sliceCount}
	for _, name := range slices.Sorted(maps.Keys(r.view.members)) {
		out.Replicas = append(out.Replicas, name[len(r.options.Name+memberInfix):])
	}
	for n, lease := range r.view.slices {
		if r.mine[n] {
			out.Slices++
		}
		if held := holder(lease); held == "" || r.view.ended(held) {
			out.Free++
		}
	}
	for _, waiting := range r.outbox {
		out.Waiting += len(waiting)
	}
	for _, what := range slices.Sorted(maps.Keys(r.troubles)) {
		out.Troubles = append(out.Troubles, what+": "+r.troubles[what])
	}
	return out
}

// Describe implements [prometheus.Collector].
func (r *Replica) Describe(out chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(r, out)
}

// Collect implements [prometheus.Collector].
func (r *Replica) Collect(out chan<- prometheus.Metric) {
	s := r.Status()
	registered := 0
	if s.Registered {
		registered = 1
	}
	for _, g := range []struct {
		name, help string
		value      int
	}{
		{"agentry_replica_registered", "1 while this replica's Lease is renewed. At 0 it goes on with its pipelines, but posts nothing: no comments, statuses, events, tags. Worry when it stays 0.", registered},
		{"agentry_replica_members", "Replicas that this one knows of, itself included. Worry when replicas differ for long.", len(s.Replicas)},
		{"agentry_replica_slices", "Slices of the fleet, of 64, that this replica runs. Worry when shares are far apart: with so few slices, a third more or less than another's is chance.", s.Slices},
		{"agentry_replica_free_slices", "Slices of the fleet that no replica holds. Worry when it is above 0 for more than half a minute: some pipelines are not looked after.", s.Free},
		{"agentry_replica_waiting_triggers", "Triggers that are not handed on to other replicas yet. Worry when it grows: the API server takes no writes.", s.Waiting},
		{"agentry_replica_troubles", "What does not work with the Leases at the moment; /api and the log say what. Worry when it stays.", len(s.Troubles)},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, float64(g.value))
	}
}

var _ prometheus.Collector = (*Replica)(nil)
