package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/replica"
)

// Replicas says which replicas share the pipelines, by Leases in a Kubernetes cluster.
type Replicas struct {
	// Namespace has the Leases; empty: there are no other replicas.
	Namespace string
	// Name is shared by the replicas of one fleet.
	Name string
	// Identity is this replica's own name; empty: the variable POD_NAME, or the host's name.
	Identity string
	// Kubeconfig is a file that says how to reach the cluster; empty: as a pod in it.
	Kubeconfig string
}

// newReplica makes this process a replica; nil if there are no others.
func newReplica(o Options) (*replica.Replica, error) {
	if o.Replicas.Namespace == "" {
		return nil, nil
	}
	config, err := replica.Config(o.Replicas.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the cluster with the replicas' leases: %w", err)
	}
	leases, err := replica.NewClient(config, o.Replicas.Namespace, o.Replicas.Name)
	if err != nil {
		return nil, err
	}
	pod, _ := o.Getenv("POD_NAME")
	return replica.New(replica.Options{
		Leases: leases, Name: o.Replicas.Name, Identity: cmp.Or(o.Replicas.Identity, pod, instance()), Log: o.Log,
	})
}

// once gives an observer only the outcomes of pipelines for which this replica may publish, so that
// every event is published once. While the Leases cannot be renewed, that is none.
type once struct {
	replica  *replica.Replica
	observer fleet.Observer
}

var _ fleet.Observer = once{}

// Passed implements [fleet.Observer].
func (s once) Passed(ctx context.Context, o fleet.Outcome) {
	if s.replica.MayPublish(o.After.ShardKey) {
		s.observer.Passed(ctx, o)
	}
}

// once wraps an observer that publishes.
func (s *service) once(o fleet.Observer) fleet.Observer {
	if s.replica == nil {
		return o
	}
	return once{s.replica, o}
}

// ownership says which pipelines are this replica's; nil: all.
func (s *service) ownership() fleet.Ownership {
	if s.replica == nil {
		return nil
	}
	return s.replica
}

// trigger gives a trigger to the fleet, and to the replicas that run other pipelines.
func (s *service) trigger(t fleet.Trigger) {
	s.fleet.Trigger(t)
	if s.replica == nil {
		return
	}
	if err := s.replica.Forward(t); err != nil {
		s.log.Warn("a trigger cannot be forwarded; the next poll finds what has changed", "pipeline", t.Pipeline, "repository", t.Repository, "err", err)
	}
}
