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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/test/clocktest"
)

// world is an API server with Leases, and replicas that share a fleet.
type world struct {
	t *testing.T

	mu       sync.Mutex
	random   *rand.Rand
	version  int
	leases   map[string]*coordinationv1.Lease
	history  []watch.Event
	changed  chan struct{} // closed and replaced at each write
	oldest   int           // versions before it are forgotten
	writes   int
	replicas map[string]*process
	ever     []*process // those that ended too
}

func newWorld(t *testing.T, seed uint64) *world {
	return &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), leases: map[string]*coordinationv1.Lease{}, changed: make(chan struct{}),
		replicas: map[string]*process{},
	}
}

func leaseResource() schema.GroupResource {
	return schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
}

// write is a change at the API server. It checks the rule of shards: whoever writes a holder
// into one finds it free.
func (w *world) write(kind watch.EventType, lease *coordinationv1.Lease) *coordinationv1.Lease {
	w.version++
	w.writes++
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(w.version)
	if before := w.leases[lease.Name]; strings.Contains(lease.Name, shardInfix) && before != nil {
		from, to := holder(before), holder(lease)
		for _, m := range w.leases {
			if from != "" && to != "" && from != to && strings.Contains(m.Name, memberInfix) && holder(m) == from {
				w.t.Errorf("%s goes from %s to %s, and the term of the former has not ended", lease.Name, from, to)
			}
		}
	}
	if kind == watch.Deleted {
		delete(w.leases, lease.Name)
	} else {
		w.leases[lease.Name] = lease
	}
	w.history = append(w.history, watch.Event{Type: kind, Object: lease})
	close(w.changed)
	w.changed = make(chan struct{})
	return lease.DeepCopy()
}

// client is one replica's way to the API server.
type client struct {
	*world
	broken  bool // answers errors
	frozen  chan struct{}
	deaf    bool // watches say nothing
	forbids string
}

var errBroken = errors.New("connection refused")

// way is the way of a request or an answer: it takes some time, or does not end.
func (c *client) way(ctx context.Context, verb string) error {
	c.mu.Lock()
	frozen, broken, delay := c.frozen, c.broken, time.Duration(c.random.IntN(int(30*time.Millisecond)))
	forbidden := verb != "" && c.forbids == verb
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
	if forbidden {
		return apierrors.NewForbidden(leaseResource(), "", errors.New("no"))
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask makes a request with both ways. A request that arrives is carried out, whether its answer
// arrives or not.
func (c *client) ask(ctx context.Context, verb string, do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if err := c.way(ctx, verb); err != nil {
		return nil, err
	}
	c.mu.Lock()
	lease, err := do()
	if lease != nil {
		lease = lease.DeepCopy()
	}
	c.mu.Unlock()
	if err := c.way(ctx, ""); err != nil {
		return nil, err
	}
	return lease, err
}

func (c *client) find(name, version string) (*coordinationv1.Lease, error) {
	lease := c.leases[name]
	if lease == nil {
		return nil, apierrors.NewNotFound(leaseResource(), name)
	}
	if version != "" && version != lease.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource(), name, errors.New("changed"))
	}
	return lease, nil
}

func (c *client) List(ctx context.Context) (*coordinationv1.LeaseList, error) {
	out := &coordinationv1.LeaseList{}
	_, err := c.ask(ctx, "list", func() (*coordinationv1.Lease, error) {
		out.ResourceVersion = strconv.Itoa(c.version)
		for _, name := range slices.Sorted(maps.Keys(c.leases)) {
			out.Items = append(out.Items, *c.leases[name].DeepCopy())
		}
		return nil, nil
	})
	return out, err
}

func (c *client) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return c.ask(ctx, "get", func() (*coordinationv1.Lease, error) { return c.find(name, "") })
}

func (c *client) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.ask(ctx, "create", func() (*coordinationv1.Lease, error) {
		if c.leases[lease.Name] != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource(), lease.Name)
		}
		return c.write(watch.Added, lease), nil
	})
}

func (c *client) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.ask(ctx, "update", func() (*coordinationv1.Lease, error) {
		if lease.ResourceVersion == "" {
			return nil, errors.New("an update without a version")
		}
		if _, err := c.find(lease.Name, lease.ResourceVersion); err != nil {
			return nil, err
		}
		return c.write(watch.Modified, lease), nil
	})
}

func (c *client) Patch(ctx context.Context, name string, merge []byte) (*coordinationv1.Lease, error) {
	return c.ask(ctx, "patch", func() (*coordinationv1.Lease, error) {
		var says struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(merge, &says); err != nil {
			return nil, err
		}
		lease, err := c.find(name, says.Metadata.ResourceVersion)
		if err != nil {
			return nil, err
		}
		before, _ := json.Marshal(lease)
		after, err := strategicpatch.StrategicMergePatch(before, merge, coordinationv1.Lease{})
		if err != nil {
			return nil, err
		}
		out := &coordinationv1.Lease{}
		if err := json.Unmarshal(after, out); err != nil {
			return nil, err
		}
		return c.write(watch.Modified, out), nil
	})
}

func (c *client) Delete(ctx context.Context, lease *coordinationv1.Lease) error {
	_, err := c.ask(ctx, "delete", func() (*coordinationv1.Lease, error) {
		found, err := c.find(lease.Name, lease.ResourceVersion)
		if err != nil {
			return nil, err
		}
		c.write(watch.Deleted, found)
		return nil, nil
	})
	return err
}

// listener is a watch.
type listener struct {
	events chan watch.Event
	cancel context.CancelFunc
}

func (l *listener) Stop()                          { l.cancel() }
func (l *listener) ResultChan() <-chan watch.Event { return l.events }

func (c *client) Watch(ctx context.Context, version string) (watch.Interface, error) {
	if err := c.way(ctx, "watch"); err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(version)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &listener{events: make(chan watch.Event), cancel: cancel}
	go func() {
		defer close(l.events)
		for ctx.Err() == nil {
			c.mu.Lock()
			news, changed, gone := c.history[min(from, len(c.history)):], c.changed, from < c.oldest
			c.mu.Unlock()
			if gone {
				status := apierrors.NewResourceExpired("too old").Status()
				news = []watch.Event{{Type: watch.Error, Object: &status}}
			}
			for _, event := range news {
				if c.way(ctx, "") != nil || !c.say(ctx, l, event) {
					return
				}
				from++
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}()
	return l, nil
}

func (c *client) say(ctx context.Context, l *listener, event watch.Event) bool {
	c.mu.Lock()
	deaf := c.deaf
	c.mu.Unlock()
	if deaf {
		<-ctx.Done()
		return false
	}
	event.Object = event.Object.DeepCopyObject()
	select {
	case l.events <- event:
		return event.Type != watch.Error
	case <-ctx.Done():
		return false
	}
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
	p.state.now = func() time.Time { return p.clock.Now().Add(skew) }
	p.fleet.replica = p.Replica
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

// kill ends a replica that cannot say good-bye.
func (w *world) kill(p *process) {
	w.mu.Lock()
	p.client.broken = true
	delete(w.replicas, p.options.Identity)
	w.mu.Unlock()
	p.stop()
	<-p.ended
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

func (w *world) replicasEver() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ever)
}

func (w *world) with(p *process, change func(*client)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(p.client)
}

// run lets time pass, and looks often whether two replicas hold one shard.
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
	var by [shardCount]string
	for _, p := range w.all() {
		for n, holds := range p.holds() {
			if holds && by[n] != "" {
				w.t.Fatalf("shard %d is held by %s and %s", n, by[n], p.options.Identity)
			}
			if holds {
				by[n] = p.options.Identity
			}
		}
	}
}

// holds is the answer of MayPublish for every shard.
func (r *Replica) holds() (out [shardCount]bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	for n := range out {
		out[n] = r.state.mayPublish(n)
	}
	return out
}

// until lets time pass until something is so, and tells how long that took.
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
		fmt.Fprintf(&b, "%+v\n", p.Status())
	}
	return b.String()
}

// holders are the identities of who holds each shard, empty if nobody does.
func (w *world) holders() [shardCount]string {
	var out [shardCount]string
	for _, p := range w.all() {
		for n, holds := range p.holds() {
			if holds && p.runs(n) {
				out[n] = p.options.Identity
			}
		}
	}
	return out
}

// settled tells whether every shard is held by the right one.
func (w *world) settled() bool {
	var members []string
	for _, p := range w.all() {
		members = append(members, p.membership.name)
	}
	for n, identity := range w.holders() {
		if "fleet-member-"+identity != owner(n, members) {
			return false
		}
	}
	return true
}

// held tells whether every shard is held.
func (w *world) held() bool {
	holders := w.holders()
	return !slices.Contains(holders[:], "")
}

// keys are one for each shard.
func keys() [shardCount]string {
	var out [shardCount]string
	for i, left := 0, shardCount; left > 0; i++ {
		key := fmt.Sprintf("pipeline-%d", i)
		if n := shardOf(key); out[n] == "" {
			out[n] = key
			left--
		}
	}
	return out
}

// engine stands for a fleet.
type engine struct {
	replica *Replica

	mu         sync.Mutex
	rebalances int
	triggers   []fleet.Trigger
	busy       chan struct{} // closed when the passes under way have ended; nil: none is
	drained    []string
}

func (e *engine) ShardKey(pipeline string) string { return strings.TrimPrefix(pipeline, "after-") }

func (e *engine) Rebalance() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rebalances++
}

// Trigger notes what reaches a pipeline that is this replica's, as a fleet does.
func (e *engine) Trigger(t fleet.Trigger) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.Pipeline != "" && !e.replica.Owns(e.ShardKey(t.Pipeline)) {
		return 0
	}
	e.triggers = append(e.triggers, t)
	return 1
}

func (e *engine) Idle(ctx context.Context, mine func(string) bool) error {
	e.mu.Lock()
	busy := e.busy
	for _, key := range keys() {
		if mine(key) {
			e.drained = append(e.drained, key)
			if e.replica.Owns(key) {
				panic("passes of " + key + " are waited for and begin all the same")
			}
		}
	}
	e.mu.Unlock()
	if busy == nil {
		return nil
	}
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *engine) got() []fleet.Trigger {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.triggers)
}

func (e *engine) changes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rebalances
}

func (r *Replica) runs(n int) bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.owned[n]
}
