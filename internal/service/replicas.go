package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/kubeconfig"
	"github.com/agentry-dev/agentry/internal/lease"
	"github.com/agentry-dev/agentry/internal/replica"
)

// Replicas elects the replica that runs the pipelines, with a Lease in a Kubernetes cluster.
type Replicas struct {
	// Namespace is the namespace of the Lease. If it is empty, there are no other replicas.
	Namespace string
	// Name is the name of the Lease, which all replicas of a fleet share.
	Name string
	// Identity is the name of this replica. Default: the variable POD_NAME, or the host's name.
	Identity string
	// Kubeconfig is a kubeconfig file for the cluster. Default: the in-cluster configuration.
	Kubeconfig string
}

// newReplica makes this process a replica. It returns nil if there are no other replicas.
func newReplica(o Options) (*replica.Replica, error) {
	if o.Replicas.Namespace == "" {
		return nil, nil
	}
	config, err := kubeconfig.Load(o.Replicas.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cluster of the replicas' lease: %w", err)
	}
	leases, err := lease.NewClient(config, o.Replicas.Namespace)
	if err != nil {
		return nil, err
	}
	pod, _ := o.Getenv("POD_NAME")
	return replica.New(lease.Options{
		Leases: leases, Name: o.Replicas.Name, Identity: cmp.Or(o.Replicas.Identity, pod, instance()), Log: o.Log,
	})
}

// whileActive passes an observer only the outcomes that this replica may publish, so that every event is published
// once. While the Lease cannot be renewed, it passes none.
type whileActive struct {
	replica  *replica.Replica
	observer fleet.Observer
}

var _ fleet.Observer = whileActive{}

// Passed implements [fleet.Observer].
func (w whileActive) Passed(ctx context.Context, o fleet.Outcome) {
	if w.replica.MayPublish() {
		w.observer.Passed(ctx, o)
	}
}

// whileActive wraps an observer that publishes.
func (s *service) whileActive(o fleet.Observer) fleet.Observer {
	if s.replica == nil {
		return o
	}
	return whileActive{s.replica, o}
}

// reasonPullRequest is the reason of a trigger for previews of a repository. The fleet does not receive it.
const reasonPullRequest = "pull-request"

// directed adapts the service to its replica.
type directed struct{ *service }

var _ replica.Fleet = directed{}

// SetActive implements [replica.Fleet].
func (d directed) SetActive(active bool) { d.fleet.SetActive(active) }

// Trigger implements [replica.Fleet]. It does nothing while this replica is passive.
func (d directed) Trigger(t fleet.Trigger) {
	if t.Reason == reasonPullRequest {
		d.previews.Trigger(t.Repository)
		return
	}
	d.fleet.Trigger(t)
}

// Report implements [replica.Fleet].
func (d directed) Report(r delivery.Report) {
	if d.delivery != nil { // All replicas have the same flags, except during an update.
		d.delivery.Record(r)
	}
}

// report records a report about a cluster, and forwards it to the active replica, which knows the commits. It returns
// whether it is about one.
func (s *service) report(r delivery.Report) (known bool, err error) {
	if s.replica != nil {
		if err := s.replica.ForwardReport(r); err != nil {
			return false, err
		}
	}
	return s.delivery.Record(r), nil
}

// trigger acts on a trigger, or forwards it to the active replica.
func (s *service) trigger(t fleet.Trigger) {
	if s.replica != nil {
		if err := s.replica.Forward(t); err != nil {
			s.log.Warn("a trigger cannot be forwarded; the next poll finds what has changed", "pipeline", t.Pipeline,
				"repository", t.Repository, "err", err)
		}
	}
	directed{s}.Trigger(t)
}
