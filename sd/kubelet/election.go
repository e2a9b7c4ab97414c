package kubelet

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The defaults of client-go. Another replica leads at most leaseDuration after a leader died.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	lockTimeout   = 5 * time.Second
)

// leaseName is the name of the Lease. It is in the namespace of the Service, so that two installations
// for the same Service do not both write it.
func leaseName(service string) string { return "sd-aggregator-" + service }

func newElector(leases coordinationv1client.LeasesGetter, service cache.ObjectName, identity string, s *status, elected func(context.Context)) (*leaderelection.LeaderElector, error) {
	lease := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: service.Namespace, Name: leaseName(service.Name)},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          reportingLock{lease, s},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: elected, OnStoppedLeading: func() {}, OnNewLeader: s.follow},
	})
}

// reportingLock is a lock that reports why it cannot be had, and does not wait for an API server that
// hangs.
type reportingLock struct {
	resourcelock.Interface
	status *status
}

var _ resourcelock.Interface = reportingLock{}

// Get implements [resourcelock.Interface].
func (l reportingLock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.try(ctx, func(ctx context.Context) error {
		record, raw, err = l.Interface.Get(ctx)
		return err
	})
	return record, raw, err
}

// Create implements [resourcelock.Interface].
func (l reportingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.try(ctx, func(ctx context.Context) error { return l.Interface.Create(ctx, record) })
}

// Update implements [resourcelock.Interface].
func (l reportingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.try(ctx, func(ctx context.Context) error { return l.Interface.Update(ctx, record) })
}

func (l reportingLock) try(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	err := do(ctx)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		// Nobody has it yet, or another replica was faster.
	case context.Cause(ctx) == context.Canceled:
	default:
		l.status.report(partLease, err)
	}
	return err
}
