package service

import (
	"cmp"
	"context"
	"fmt"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/replica"
)

// Replicas says with whom the pipelines are shared, by Leases in a Kubernetes cluster.
type Replicas struct {
	// Namespace has the Leases; empty: nobody shares the pipelines.
	Namespace string
	// Name is that of all replicas together.
	Name string
	// Identity is that of this one; empty: the variable POD_NAME, or the host's name.
	Identity string
	// Kubeconfig is the way to the cluster; empty: that of a pod in it.
	Kubeconfig string
}

// newReplica is this service's part among replicas; nil if there are none.
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

// shared lets an observer hear only of pipelines that this replica holds, so that what others
// see of them happens once. While the Leases cannot be renewed, it hears of none.
type shared struct {
	replica  *replica.Replica
	observer fleet.Observer
}

var _ fleet.Observer = shared{}

// Passed implements [fleet.Observer].
func (s shared) Passed(ctx context.Context, o fleet.Outcome) {
	if s.replica.MayPublish(o.After.ShardKey) {
		s.observer.Passed(ctx, o)
	}
}

// once is an observer whose doings others see.
func (s *service) once(o fleet.Observer) fleet.Observer {
	if s.replica == nil {
		return o
	}
	return shared{s.replica, o}
}

// ownership is what the fleet asks which pipelines are ours; nil for all.
func (s *service) ownership() fleet.Ownership {
	if s.replica == nil {
		return nil
	}
	return s.replica
}

// trigger gives a trigger to the fleet, and to the replicas that run what it does not.
func (s *service) trigger(t fleet.Trigger) {
	s.fleet.Trigger(t)
	if s.replica == nil {
		return
	}
	if err := s.replica.Forward(t); err != nil {
		s.log.Warn("a trigger is not handed on; polling finds what it was about", "pipeline", t.Pipeline, "repository", t.Repository, "err", err)
	}
}
