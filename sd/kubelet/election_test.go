//lint:file-ignore SA1019 Endpoints are deprecated, but are what the rendered discovery role reads.

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	k8stesting "k8s.io/client-go/testing"

	"github.com/agentry-dev/agentry/internal/lease"
)

// slowly is a client whose writes of Endpoints take long and cannot be cancelled.
type slowly struct {
	Core
	takes  time.Duration
	report func(event string)
}

type slowEndpoints struct {
	corev1client.EndpointsInterface
	slowly
}

func (s slowly) Endpoints(namespace string) corev1client.EndpointsInterface {
	return slowEndpoints{s.Core.Endpoints(namespace), s}
}

func (s slowEndpoints) Update(ctx context.Context, object *corev1.Endpoints,
	options metav1.UpdateOptions) (*corev1.Endpoints, error) {
	s.report("a write begins")
	defer s.report("a write ends")
	time.Sleep(s.takes)
	return s.EndpointsInterface.Update(context.WithoutCancel(ctx), object, options)
}

func TestTheLeaseIsGivenUpAfterTheLastWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []string
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		r := w.startWith("one", func(c Core) Core {
			return slowly{c, 3 * time.Second, func(event string) { events = append(events, event) }}
		})
		after(5 * time.Second)
		r.before(func(a k8stesting.Action) error {
			if update, ok := a.(k8stesting.UpdateAction); ok {
				if l, ok := update.GetObject().(*coordinationv1.Lease); ok && l.Spec.HolderIdentity == nil {
					events = append(events, "the lease is given up")
				}
			}
			return nil
		})
		w.add(aNode("b", internal("10.0.0.3")))
		after(settleTime + time.Second) // The write is under way.
		r.stop()
		want := []string{"a write begins", "a write ends", "the lease is given up"}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Error(diff)
		}
	})
}

// TestALeaderThatLosesItsLeaseWritesNoMore: perhaps only the Lease cannot be renewed, and other requests succeed.
func TestALeaderThatLosesItsLeaseWritesNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		first := w.start("one")
		after(5 * time.Second)
		second := w.start("two")
		after(5 * time.Second)
		var last time.Time
		first.before(func(a k8stesting.Action) error {
			switch {
			case a.GetResource().Resource == "leases":
				return errors.New("no lease for you")
			case a.GetVerb() == "update":
				last = time.Now()
			}
			return nil
		})
		lost, followed := time.Now(), time.Time{}
		for i := range 60 { // There is always something to write.
			w.add(aNode(fmt.Sprintf("n%02d", i), internal(fmt.Sprintf("10.1.0.%d", i+1))))
			after(time.Second)
			if followed.IsZero() && slices.Contains(leaders(first, second), 1) {
				followed = time.Now()
			}
		}
		if last.Before(lost) || followed.IsZero() {
			t.Fatalf("the test says nothing: lost at %s, written at %s, followed at %s", lost, last, followed)
		}
		if last.After(lost.Add(lease.TrustTime)) {
			t.Errorf("written %s after the lease was lost", last.Sub(lost))
		}
		if !last.Before(followed) {
			t.Errorf("written at %s, followed at %s", last, followed)
		}
	})
}

// hanging is a client whose writes of Endpoints get no answer.
type hanging struct {
	Core
	took *time.Duration
}

type hangingEndpoints struct {
	corev1client.EndpointsInterface
	hanging
}

func (h hanging) Endpoints(namespace string) corev1client.EndpointsInterface {
	return hangingEndpoints{h.Core.Endpoints(namespace), h}
}

func (h hangingEndpoints) Update(ctx context.Context, _ *corev1.Endpoints, _ metav1.UpdateOptions) (*corev1.Endpoints,
	error) {
	began := time.Now()
	<-ctx.Done()
	*h.took = time.Since(began)
	return nil, ctx.Err()
}

// TestAWriteEndsBeforeAnotherReplicaCanLead: a write may begin just before this replica stops trusting its Lease.
func TestAWriteEndsBeforeAnotherReplicaCanLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		w := newFakeCluster(t, aNode("a", internal("10.0.0.2")))
		r := w.startWith("one", func(c Core) Core { return hanging{c, &took} })
		after(5 * time.Second)
		w.add(aNode("b", internal("10.0.0.3")))
		after(time.Minute)
		r.stop()
		if took == 0 || took > lease.Margin {
			t.Errorf("a write without an answer is given up after %s", took)
		}
	})
}

// TestAKeeperThatIsElectedTwice: a keeper that is elected twice before it begins to lead leads only for the second
// election, and does not make the elector wait.
func TestAKeeperThatIsElectedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := member{New(Options{Service: kubeletService, Identity: "one", Log: slog.New(slog.DiscardHandler)})}
		for _, active := range []bool{true, false, true} {
			m.SetActive(active)
		}
		if elected := <-m.elected; elected.Err() != nil || len(m.elected) > 0 {
			t.Errorf("%v, and %d more", elected.Err(), len(m.elected))
		}
	})
}
