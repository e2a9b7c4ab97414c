package replica

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Status is the state of a replica's share, for people and metrics.
type Status struct {
	Identity string `json:"identity"`
	// Term is the holder that this replica writes into its Leases; empty if it is not registered.
	Term string `json:"term,omitempty"`
	// Registered says that the term can be trusted: this replica may do what others see.
	Registered bool `json:"registered"`
	// Replicas are the identities of all members, sorted.
	Replicas []string `json:"replicas"`
	// Shards is how many this replica runs, Free how many nobody holds, Of how many there are.
	Shards int `json:"shards"`
	Free   int `json:"free"`
	Of     int `json:"of"`
	// Waiting is how many triggers are not forwarded yet.
	Waiting int `json:"waiting"`
	// Troubles is what does not work at the moment.
	Troubles []string `json:"troubles,omitempty"`
}

// Status returns the present state.
func (r *Replica) Status() Status {
	s := r.state
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{Identity: r.options.Identity, Term: s.term, Registered: s.stands(), Of: shardCount, Troubles: r.problems.list()}
	for _, name := range slices.Sorted(maps.Keys(s.view.members)) {
		out.Replicas = append(out.Replicas, name[len(r.options.Name+memberInfix):])
	}
	for n, lease := range s.view.shards {
		if s.owned[n] {
			out.Shards++
		}
		if held := holder(lease); held == "" || s.view.ended(held) {
			out.Free++
		}
	}
	for _, waiting := range r.forwarder.outbox {
		out.Waiting += len(waiting)
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
		{"agentry_replica_registered", "1 while this replica renews its Lease. At 0 it still runs its pipelines, but posts nothing: no comments, statuses, events, tags. Worry when it stays 0.", registered},
		{"agentry_replica_members", "Replicas that this one knows of, itself included. Worry when replicas differ for long.", len(s.Replicas)},
		{"agentry_replica_shards", "Shards of the fleet, of 64, that this replica runs. Worry when replicas have very different numbers: with so few shards, a third more or less than another one is chance.", s.Shards},
		{"agentry_replica_free_shards", "Shards of the fleet that no replica holds. Worry when it is above 0 for more than half a minute: nobody runs some of the pipelines.", s.Free},
		{"agentry_replica_waiting_triggers", "Triggers that are not forwarded to other replicas yet. Worry when it grows: the API server accepts no writes.", s.Waiting},
		{"agentry_replica_troubles", "What does not work with the Leases at the moment; /api and the log say what. Worry when it stays.", len(s.Troubles)},
	} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(g.name, g.help, nil, nil), prometheus.GaugeValue, float64(g.value))
	}
}

var _ prometheus.Collector = (*Replica)(nil)
