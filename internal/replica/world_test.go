package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/test/clocktest"
)

// world is an API server with a Lease, and replicas that run a fleet.
type world struct {
	t *testing.T

	mu       sync.Mutex
	random   *rand.Rand
	version  int
	lease    *coordinationv1.Lease // nil: there is none
	writes   int
	replicas map[string]*process
	ever     []*process // those that ended too
}

// play runs a test in a world whose replicas end with it.
func play(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		defer w.close()
		test(t, w)
	})
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), replicas: map[string]*process{}}
}

func (w *world) close() {
	for _, p := range w.all() {
		w.disturb(p, none)
		w.end(p)
	}
}

func leaseResource() schema.GroupResource {
	return schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
}

// write changes the Lease at the API server.
func (w *world) write(lease *coordinationv1.Lease) *coordinationv1.Lease {
	w.version++
	w.writes++
	w.lease = lease.DeepCopy()
	w.lease.ResourceVersion = strconv.Itoa(w.version)
	return w.lease
}

// client is one replica's way to the API server.
type client struct {
	*world
	broken bool // answers errors
	frozen chan struct{}
	lossy  bool // writes are carried out, and their answers are lost
}

var errBroken = errors.New("connection refused")

// way is one direction between a replica and the API server: it takes some time, or never ends.
func (c *client) way(ctx context.Context, answersWrite bool) error {
	c.mu.Lock()
	frozen, broken, delay := c.frozen, c.broken || answersWrite && c.lossy, time.Duration(c.random.IntN(int(30*time.Millisecond)))
	c.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if broken {
		return errBroken
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask makes a request through both ways. The API server carries out a request that arrives, whether its answer arrives or
// not.
func (c *client) ask(ctx context.Context, name string, write bool, do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if name != "fleet" {
		return nil, apierrors.NewForbidden(leaseResource(), name, errors.New("no"))
	}
	if err := c.way(ctx, false); err != nil {
		return nil, err
	}
	c.mu.Lock()
	lease, err := do()
	lease = lease.DeepCopy()
	c.mu.Unlock()
	if err := c.way(ctx, write); err != nil {
		return nil, err
	}
	return lease, err
}

func (c *client) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return c.ask(ctx, name, false, func() (*coordinationv1.Lease, error) {
		if c.lease == nil {
			return nil, apierrors.NewNotFound(leaseResource(), name)
		}
		return c.lease, nil
	})
}

func (c *client) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.ask(ctx, lease.Name, true, func() (*coordinationv1.Lease, error) {
		if c.lease != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource(), lease.Name)
		}
		return c.write(lease), nil
	})
}

func (c *client) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.ask(ctx, lease.Name, true, func() (*coordinationv1.Lease, error) {
		switch {
		case lease.ResourceVersion == "":
			return nil, errors.New("an update without a version")
		case c.lease == nil:
			return nil, apierrors.NewNotFound(leaseResource(), lease.Name)
		case lease.ResourceVersion != c.lease.ResourceVersion:
			return nil, apierrors.NewConflict(leaseResource(), lease.Name, errors.New("changed"))
		}
		return c.write(lease), nil
	})
}

// process is a replica that runs.
type process struct {
	*Replica
	client *client
	fleet  *engine
	clock  clocktest.Clock
	stop   context.CancelFunc
	ended  chan struct{}
}

// start starts a replica. Its clock may show another time than others'.
func (w *world) start(identity string, skew time.Duration) *process {
	w.t.Helper()
	p := &process{client: &client{world: w}, fleet: &engine{}, ended: make(chan struct{})}
	var err error
	p.Replica, err = New(Options{Leases: p.client, Name: "fleet", Identity: identity})
	if err != nil {
		w.t.Fatal(err)
	}
	p.now = func() time.Time { return p.clock.Now().Add(skew) }
	ctx, cancel := context.WithCancel(w.t.Context())
	p.stop = cancel
	go func() {
		defer close(p.ended)
		p.Run(ctx, p.fleet)
	}()
	w.mu.Lock()
	w.replicas[identity] = p
	w.ever = append(w.ever, p)
	w.mu.Unlock()
	return p
}

// kill ends a replica that cannot give up the Lease.
func (w *world) kill(p *process) {
	w.disturb(p, broken)
	w.end(p)
}

// end lets a replica leave.
func (w *world) end(p *process) {
	w.mu.Lock()
	delete(w.replicas, p.options.Identity)
	w.mu.Unlock()
	p.stop()
	<-p.ended
}

func (w *world) all() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*process
	for _, name := range slices.Sorted(maps.Keys(w.replicas)) {
		out = append(out, w.replicas[name])
	}
	return out
}

// The faults between a replica and the API server.
const (
	none = iota
	broken
	frozen
	lossy
	kinds
)

// disturb sets one fault, or none.
func (w *world) disturb(p *process, kind int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := p.client
	if c.frozen != nil {
		close(c.frozen)
	}
	c.broken, c.lossy, c.frozen = kind == broken, kind == lossy, nil
	if kind == frozen {
		c.frozen = make(chan struct{})
	}
}

// run lets time pass, and checks often that no two replicas may publish.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		w.look()
	}
	synctest.Wait()
	w.look()
}

func (w *world) look() {
	w.t.Helper()
	var publish []string
	for _, p := range w.all() {
		if p.MayPublish() {
			publish = append(publish, p.options.Identity)
		}
	}
	if len(publish) > 1 {
		w.t.Fatalf("several may publish: %q", publish)
	}
}

// until lets time pass until a condition holds, and returns how long that took.
func (w *world) until(what string, limit time.Duration, so func() bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	for !so() {
		if time.Since(began) >= limit {
			w.t.Fatalf("after %v not yet: %s\n%s", limit, what, w.explain())
		}
		w.run(100 * time.Millisecond)
	}
	return time.Since(began)
}

func (w *world) explain() string {
	var b strings.Builder
	for _, p := range w.all() {
		fmt.Fprintf(&b, "%s: %+v, its fleet %v\n", p.options.Identity, p.Status(), p.fleet.changes())
	}
	return b.String()
}

// one is a condition: this replica is active, may publish and makes passes, and no other does.
func (w *world) one(p *process) func() bool {
	return func() bool {
		for _, other := range w.all() {
			if is := other == p; other.Status().Active != is || other.MayPublish() != is || other.fleet.isActive() != is {
				return false
			}
		}
		return true
	}
}

// any is a condition: one replica is active.
func (w *world) any() bool {
	return slices.ContainsFunc(w.all(), func(p *process) bool { return w.one(p)() })
}

// activeOne returns the replica that is active.
func (w *world) activeOne() *process {
	w.t.Helper()
	w.until("one is active", takeover, w.any)
	all := w.all()
	return all[slices.IndexFunc(all, func(p *process) bool { return p.Status().Active })]
}

// annotations counts the triggers on the Lease.
func (w *world) annotations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease == nil {
		return 0
	}
	return len(w.lease.Annotations)
}

// engine stands for a fleet.
type engine struct {
	mu       sync.Mutex
	set      []bool // what SetActive was called with
	triggers []fleet.Trigger
}

func (e *engine) SetActive(active bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set = append(e.set, active)
}

// Trigger records the triggers that an active fleet acts on.
func (e *engine) Trigger(t fleet.Trigger) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.set) > 0 && e.set[len(e.set)-1] {
		e.triggers = append(e.triggers, t)
	}
}

func (e *engine) got() []fleet.Trigger {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.triggers)
}

func (e *engine) changes() []bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.set)
}

func (e *engine) isActive() bool {
	c := e.changes()
	return len(c) > 0 && c[len(c)-1]
}
