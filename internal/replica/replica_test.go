package replica

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/lease"
)

// oneLease simulates an API server with at most one Lease.
type oneLease struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
}

var _ lease.Leases = (*oneLease)(nil)

func (s *oneLease) Get(context.Context, string) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "fleet")
	}
	return s.lease.DeepCopy(), nil
}

func (s *oneLease) Create(_ context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return s.write(l)
}

func (s *oneLease) Update(_ context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return s.write(l)
}

func (s *oneLease) write(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil && s.lease.ResourceVersion != l.ResourceVersion {
		return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), l.Name, errors.New("changed"))
	}
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion += "+"
	return s.lease.DeepCopy(), nil
}

// recorder is a fleet that records its triggers while it is active.
type recorder struct {
	mu       sync.Mutex
	active   bool
	triggers []fleet.Trigger
	reports  []delivery.Report
}

func (r *recorder) SetActive(active bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = active
}

func (r *recorder) Trigger(t fleet.Trigger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.triggers = append(r.triggers, t)
}

func (r *recorder) Report(report delivery.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, report)
}

func TestATriggerReachesTheFleetOfTheActiveReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, fleets := &oneLease{}, []*recorder{{}, {}}
		var replicas []*Replica
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i, f := range fleets {
			r, err := New(lease.Options{Leases: server, Name: "fleet", Identity: string(rune('a' + i))})
			if err != nil {
				t.Fatal(err)
			}
			replicas = append(replicas, r)
			running.Go(func() { r.Run(ctx, f) })
			time.Sleep(5 * time.Second)
		}
		if !replicas[0].MayPublish() || replicas[1].MayPublish() || !fleets[0].active || fleets[1].active {
			t.Fatal("the first replica is not the active one")
		}
		want := []fleet.Trigger{
			{Pipeline: "shop", Reason: "api", Token: "2026-01-01T00:00:00Z"},
			{Repository: "git.example.com/platform/monitoring", Reason: "webhook"},
			{Reason: "signal"},
			{Reason: "signal"},
		}
		for _, trigger := range want {
			if err := replicas[1].Forward(trigger); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
		}
		reports := []delivery.Report{
			{Cluster: "eu", Reconciler: "Kustomization/flux-system/monitoring", Commit: "7fd1c0ffee7f",
				State: delivery.Applied, Sent: time.Now().UTC().Truncate(time.Second)},
			{Cluster: "eu", Reconciler: "Kustomization/flux-system/monitoring", Commit: "7fd1c0ffee7f",
				State: delivery.Failed, Message: strings.Repeat("x", 400),
				Sent: time.Now().UTC().Truncate(time.Second)},
		}
		for _, report := range reports {
			if err := replicas[1].ForwardReport(report); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(5 * time.Second)
		fleets[0].mu.Lock()
		got := slices.SortedFunc(slices.Values(fleets[0].reports), func(a, b delivery.Report) int {
			return cmp.Compare(a.State, b.State)
		})
		fleets[0].mu.Unlock()
		if diff := gocmp.Diff(reports, got, cmpopts.IgnoreUnexported(delivery.Report{})); diff != "" {
			t.Errorf("reports of the active one:\n%s", diff)
		}
		server.mu.Lock()
		server.lease.Annotations = map[string]string{"trigger.agentry.dev/other": "{"}
		server.mu.Unlock()
		time.Sleep(5 * time.Second)
		stop()
		running.Wait()
		if diff := gocmp.Diff(want, fleets[0].triggers); diff != "" || len(fleets[1].triggers) > 0 ||
			len(server.lease.Annotations) > 0 {
			t.Errorf("the passive one got %v; stay: %v; the active one:\n%s", fleets[1].triggers,
				server.lease.Annotations, diff)
		}
	})
}

func TestATriggerThatIsTooLargeIsAnError(t *testing.T) {
	r, err := New(lease.Options{Name: "fleet", Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Forward(fleet.Trigger{Token: strings.Repeat("x", 2048)}); err == nil ||
		!strings.HasPrefix(err.Error(), "forward a trigger: ") {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, test := range map[string]struct{ fleet, identity, want string }{
		"a pod":                        {"agentry", "agentry-5d4f-x2x", ""},
		"a host with capitals":         {"agentry", "Build-7.example.com.", ""},
		"no identity":                  {"agentry", "", `identity ""`},
		"an identity that is too long": {"agentry", strings.Repeat("a", maxIdentityBytes+1), "identity"},
		"a fleet with a dot":           {"agent.ry", "a", "name of the replicas"},
		"a fleet that is too long":     {strings.Repeat("a", maxNameBytes+1), "a", "name of the replicas"},
		"no fleet":                     {"", "a", "name of the replicas"},
	} {
		_, err := New(lease.Options{Name: test.fleet, Identity: test.identity})
		if test.want == "" && err != nil ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
