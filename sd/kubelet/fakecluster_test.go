//lint:file-ignore SA1019 Endpoints are deprecated, but are what the rendered discovery role reads.

package kubelet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coordinationv1fake "k8s.io/client-go/kubernetes/typed/coordination/v1/fake"
	corev1fake "k8s.io/client-go/kubernetes/typed/core/v1/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

var kubeletService = cache.ObjectName{Namespace: "default", Name: "kubelet"}

// fakeCluster is the state of the API server. It refuses updates of objects that changed since they were read, as the
// real one does and client-go's fake does not.
type fakeCluster struct {
	t       *testing.T
	tracker k8stesting.ObjectTracker

	mu      sync.Mutex
	version int
}

func newFakeCluster(t *testing.T, objects ...runtime.Object) *fakeCluster {
	w := &fakeCluster{t: t, tracker: k8stesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())}
	for _, o := range objects {
		w.stamp(o)
		if err := w.tracker.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *fakeCluster) stamp(o runtime.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	accessor, err := meta.Accessor(o)
	if err != nil {
		w.t.Fatal(err)
	}
	accessor.SetResourceVersion(strconv.Itoa(w.version))
}

// replica is a running keeper with its own connection to the API server.
type replica struct {
	*Keeper
	api  *k8stesting.Fake
	log  *logged
	stop func() // and wait for the end
	// before is called before the API server sees a request of this replica. If it returns an error, the API server
	// does not see the request.
	before func(func(k8stesting.Action) error)
}

// away makes the API server unreachable for this replica only.
func (r *replica) away(yes bool) {
	r.before(func(k8stesting.Action) error {
		if yes {
			return errors.New("no route to host")
		}
		return nil
	})
}

// fakeLeases implements [lease.Leases] on the fake API server.
type fakeLeases struct {
	client coordinationv1client.LeaseInterface
}

func (f fakeLeases) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return f.client.Get(ctx, name, metav1.GetOptions{})
}

func (f fakeLeases) Create(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return f.client.Create(ctx, l, metav1.CreateOptions{})
}

func (f fakeLeases) Update(ctx context.Context, l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return f.client.Update(ctx, l, metav1.UpdateOptions{})
}

type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(line string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(line))
}

func (w *fakeCluster) start(identity string) *replica {
	w.t.Helper()
	return w.startWith(identity, func(c Core) Core { return c })
}

// startWith starts a replica with a client that is wrapped.
func (w *fakeCluster) startWith(identity string, wrap func(Core) Core) *replica {
	w.t.Helper()
	r := &replica{api: &k8stesting.Fake{}, log: &logged{}}
	// The client's list of reactors must not change while it is in use.
	var hook struct {
		sync.Mutex
		f func(k8stesting.Action) error
	}
	r.before = func(f func(k8stesting.Action) error) {
		hook.Lock()
		defer hook.Unlock()
		hook.f = f
	}
	r.away(false)
	r.api.AddReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		hook.Lock()
		defer hook.Unlock()
		err := hook.f(a)
		return err != nil, nil, err
	})
	for _, verb := range []string{"create", "update"} {
		r.api.AddReactor(verb, "*", w.check)
	}
	r.api.AddReactor("*", "*", k8stesting.ObjectReaction(w.tracker))
	r.api.AddWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		events, err := w.tracker.Watch(a.GetResource(), a.GetNamespace(), a.(k8stesting.WatchActionImpl).ListOptions)
		return true, events, err
	})
	leases := (&coordinationv1fake.FakeCoordinationV1{Fake: r.api}).Leases(kubeletService.Namespace)
	client := Client{Core: wrap(&corev1fake.FakeCoreV1{Fake: r.api}), Leases: fakeLeases{leases}}
	r.Keeper = New(Options{Client: client, Service: kubeletService, Identity: identity,
		Log: slog.New(slog.NewTextHandler(r.log, nil))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(r.stop)
	return r
}

// check gives a written object a version, unless it was made from an old one.
func (w *fakeCluster) check(a k8stesting.Action) (bool, runtime.Object, error) {
	object := a.(k8stesting.CreateAction).GetObject()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return true, nil, err
	}
	found, err := w.tracker.Get(a.GetResource(), a.GetNamespace(), accessor.GetName())
	if err == nil && a.GetVerb() == "update" {
		old, _ := meta.Accessor(found)
		if old.GetResourceVersion() != accessor.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), accessor.GetName(),
				errors.New("it changed"))
		}
	}
	w.stamp(object)
	return false, nil, nil
}

// written counts the writes of a replica to a resource.
func (r *replica) written(resource string) int {
	n := 0
	for _, a := range r.api.Actions() {
		if a.GetResource().Resource == resource && (a.GetVerb() == "create" || a.GetVerb() == "update") {
			n++
		}
	}
	return n
}

// after lets time pass, and waits until all due work is done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func aNode(name string, addresses ...corev1.NodeAddress) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status: corev1.NodeStatus{Addresses: addresses}}
}

func internal(address string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address}
}

func external(address string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: address}
}

var (
	nodesResource     = corev1.SchemeGroupVersion.WithResource("nodes")
	servicesResource  = corev1.SchemeGroupVersion.WithResource("services")
	endpointsResource = corev1.SchemeGroupVersion.WithResource("endpoints")
)

func (w *fakeCluster) service() *corev1.Service {
	w.t.Helper()
	found, err := w.tracker.Get(servicesResource, "default", "kubelet")
	if err != nil {
		w.t.Fatal(err)
	}
	return found.(*corev1.Service)
}

func (w *fakeCluster) endpoints() *corev1.Endpoints {
	w.t.Helper()
	found, err := w.tracker.Get(endpointsResource, "default", "kubelet")
	if err != nil {
		w.t.Fatal(err)
	}
	return found.(*corev1.Endpoints)
}

// listed returns the addresses in the Endpoints.
func (w *fakeCluster) listed() string {
	w.t.Helper()
	var out bytes.Buffer
	for _, s := range w.endpoints().Subsets {
		for _, a := range s.Addresses {
			out.WriteString(a.TargetRef.Name + "=" + a.IP + " ")
		}
	}
	return out.String()
}

// update changes an object on behalf of another client.
func (w *fakeCluster) update(o runtime.Object) {
	w.t.Helper()
	w.stamp(o)
	resource, namespace := endpointsResource, "default"
	switch o.(type) {
	case *corev1.Node:
		resource, namespace = nodesResource, ""
	case *corev1.Service:
		resource = servicesResource
	}
	if err := w.tracker.Update(resource, o, namespace); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fakeCluster) add(n *corev1.Node) {
	w.t.Helper()
	w.stamp(n)
	if err := w.tracker.Create(nodesResource, n, ""); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait() // A fake watch has a small buffer.
}

func (w *fakeCluster) remove(node string) {
	w.t.Helper()
	if err := w.tracker.Delete(nodesResource, "", node); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}
