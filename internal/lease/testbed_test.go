package lease

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

	"github.com/agentry-dev/agentry/test/clocktest"
)

// testbed has an API server with a Lease, and processes that elect one of them.
type testbed struct {
	t *testing.T

	mu       sync.Mutex
	random   *rand.Rand
	version  int
	lease    *coordinationv1.Lease // nil if it does not exist
	writes   int
	replicas map[string]*process
	ever     []*process // including ended ones
}

// play runs a test in a testbed whose processes end with it.
func play(t *testing.T, test func(t *testing.T, w *testbed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newTestbed(t, 1)
		defer w.close()
		test(t, w)
	})
}

func newTestbed(t *testing.T, seed uint64) *testbed {
	return &testbed{t: t, random: rand.New(rand.NewPCG(seed, 1)), replicas: map[string]*process{}}
}

func (w *testbed) close() {
	for _, p := range w.all() {
		w.disturb(p, none)
		w.end(p)
	}
}

func leaseResource() schema.GroupResource {
	return schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
}

// write changes the Lease at the API server.
func (w *testbed) write(lease *coordinationv1.Lease) *coordinationv1.Lease {
	w.version++
	w.writes++
	w.lease = lease.DeepCopy()
	w.lease.ResourceVersion = strconv.Itoa(w.version)
	return w.lease
}

// client is one process's connection to the API server.
type client struct {
	*testbed
	broken bool // all requests fail
	frozen chan struct{}
	lossy  bool // writes succeed, but their responses are lost
}

var errBroken = errors.New("connection refused")

// delay simulates one direction of the connection: it takes some time, or never ends.
func (c *client) delay(ctx context.Context, answersWrite bool) error {
	c.mu.Lock()
	frozen, broken, delay := c.frozen, c.broken || answersWrite && c.lossy,
		time.Duration(c.random.IntN(int(30*time.Millisecond)))
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

// request makes a request in both directions. The API server executes a request that arrives, even if its response is
// lost.
func (c *client) request(ctx context.Context, name string, write bool,
	do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if name != "fleet" {
		return nil, apierrors.NewForbidden(leaseResource(), name, errors.New("no"))
	}
	if err := c.delay(ctx, false); err != nil {
		return nil, err
	}
	c.mu.Lock()
	lease, err := do()
	lease = lease.DeepCopy()
	c.mu.Unlock()
	if err := c.delay(ctx, write); err != nil {
		return nil, err
	}
	return lease, err
}

func (c *client) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return c.request(ctx, name, false, func() (*coordinationv1.Lease, error) {
		if c.lease == nil {
			return nil, apierrors.NewNotFound(leaseResource(), name)
		}
		return c.lease, nil
	})
}

func (c *client) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.request(ctx, lease.Name, true, func() (*coordinationv1.Lease, error) {
		if c.lease != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource(), lease.Name)
		}
		return c.write(lease), nil
	})
}

func (c *client) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.request(ctx, lease.Name, true, func() (*coordinationv1.Lease, error) {
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

// process is a running replica.
type process struct {
	*Elector
	client *client
	work   *work
	clock  clocktest.Clock
	stop   context.CancelFunc
	ended  chan struct{}
}

// start starts a process. Its clock may differ from others'.
func (w *testbed) start(identity string, skew time.Duration) *process {
	w.t.Helper()
	p := &process{client: &client{testbed: w}, work: &work{}, ended: make(chan struct{})}
	p.Elector = New(Options{Leases: p.client, Name: "fleet", Identity: identity})
	p.now = func() time.Time { return p.clock.Now().Add(skew) }
	ctx, cancel := context.WithCancel(w.t.Context())
	p.stop = cancel
	go func() {
		defer close(p.ended)
		p.Run(ctx, p.work)
	}()
	w.mu.Lock()
	w.replicas[identity] = p
	w.ever = append(w.ever, p)
	w.mu.Unlock()
	return p
}

// kill ends a process without letting it give up the Lease.
func (w *testbed) kill(p *process) {
	w.disturb(p, broken)
	w.end(p)
}

// end stops a process orderly.
func (w *testbed) end(p *process) {
	w.mu.Lock()
	delete(w.replicas, p.options.Identity)
	w.mu.Unlock()
	p.stop()
	<-p.ended
}

func (w *testbed) all() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*process
	for _, name := range slices.Sorted(maps.Keys(w.replicas)) {
		out = append(out, w.replicas[name])
	}
	return out
}

// The faults between a process and the API server.
const (
	none = iota
	broken
	frozen
	lossy
	kinds
)

// disturb sets one fault, or none.
func (w *testbed) disturb(p *process, kind int) {
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

// run lets time pass, and checks often that no two processes own the Lease.
func (w *testbed) run(d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		w.look()
	}
	synctest.Wait()
	w.look()
}

func (w *testbed) look() {
	w.t.Helper()
	var owners []string
	for _, p := range w.all() {
		if p.Owns() {
			owners = append(owners, p.options.Identity)
		}
	}
	if len(owners) > 1 {
		w.t.Fatalf("several own the Lease: %q", owners)
	}
}

// until lets time pass until a condition holds, and returns how long that took.
func (w *testbed) until(what string, limit time.Duration, so func() bool) time.Duration {
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

func (w *testbed) explain() string {
	var b strings.Builder
	for _, p := range w.all() {
		fmt.Fprintf(&b, "%s: %+v, its work %v\n", p.options.Identity, p.Status(), p.work.changes())
	}
	return b.String()
}

// one returns a condition: this process is active, owns the Lease and works, and no other does.
func (w *testbed) one(p *process) func() bool {
	return func() bool {
		for _, other := range w.all() {
			if is := other == p; other.Status().Active != is || other.Owns() != is || other.work.isActive() != is {
				return false
			}
		}
		return true
	}
}

// any reports whether a process is active.
func (w *testbed) any() bool {
	return slices.ContainsFunc(w.all(), func(p *process) bool { return w.one(p)() })
}

// activeOne returns the active process.
func (w *testbed) activeOne() *process {
	w.t.Helper()
	w.until("one is active", takeover, w.any)
	all := w.all()
	return all[slices.IndexFunc(all, func(p *process) bool { return p.Status().Active })]
}

// annotations counts the messages on the Lease.
func (w *testbed) annotations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lease == nil {
		return 0
	}
	return len(w.lease.Annotations)
}

// work records the calls of the elector.
type work struct {
	mu       sync.Mutex
	set      []bool // arguments of SetActive
	messages []string
}

func (e *work) SetActive(active bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.set = append(e.set, active)
}

// Receive records the messages that an active process acts on.
func (e *work) Receive(message string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.set) > 0 && e.set[len(e.set)-1] {
		e.messages = append(e.messages, message)
	}
	return nil
}

func (e *work) got() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.messages)
}

func (e *work) changes() []bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.set)
}

func (e *work) isActive() bool {
	c := e.changes()
	return len(c) > 0 && c[len(c)-1]
}
