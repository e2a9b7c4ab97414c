package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// listTimeout bounds the request for one page: an overloaded API server may never finish it.
	listTimeout = 30 * time.Second
	listPage    = 500
)

// node is the data kept of one Node.
type node struct {
	name string
	uid  types.UID
	// address is empty if the Node has no usable one.
	address string
}

// extract takes the first usable InternalIP, or else the first usable ExternalIP. The API server refuses whole
// Endpoints for one wrong address.
func extract(n *corev1.Node) node {
	out := node{name: n.Name, uid: n.UID}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, a := range n.Status.Addresses {
			if ip, err := netip.ParseAddr(a.Address); a.Type == kind && err == nil && usable(ip) {
				out.address = ip.String()
				return out
			}
		}
	}
	return out
}

// usable reports whether Kubernetes accepts the address in Endpoints.
func usable(ip netip.Addr) bool {
	return ip.Zone() == "" && !ip.Is4In6() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() &&
		!ip.IsLinkLocalMulticast()
}

// nodeWatch is the list of nodes: the source of a reflector, and the store that the reflector fills.
type nodeWatch struct {
	client corev1client.NodeInterface
	status *status
	// changed receives a value once all nodes are known, and after each relevant change.
	changed chan struct{}

	mu    sync.Mutex
	nodes map[string]node
}

var _ cache.ListerWatcherWithContext = (*nodeWatch)(nil)

func newNodeWatch(client corev1client.NodeInterface, s *status) *nodeWatch {
	return &nodeWatch{client: client, status: s, changed: make(chan struct{}, 1), nodes: map[string]node{}}
}

func (w *nodeWatch) run(ctx context.Context) {
	silent := logr.Discard()
	reflector := cache.NewReflectorWithOptions(w, &corev1.Node{}, w, cache.ReflectorOptions{
		Name:   "nodes",
		Logger: &silent,
		Backoff: &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.25, Cap: 5 * time.Second,
			Steps: 10},
	})
	reflector.WatchListPageSize = listPage
	reflector.RunWithContext(klog.NewContext(ctx, silent))
}

// list returns the nodes, sorted by name.
func (w *nodeWatch) list() []node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []node
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		out = append(out, w.nodes[name])
	}
	return out
}

// IsWatchListSemanticsUnSupported makes the reflector list: a streamed list has no deadline.
func (w *nodeWatch) IsWatchListSemanticsUnSupported() bool { return true }

// List implements [cache.Lister].
func (w *nodeWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), options)
}

// Watch implements [cache.Watcher].
func (w *nodeWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), options)
}

// ListWithContext implements [cache.ListerWithContext]. It keeps only the needed part of each node: nodes list their
// images, and the nodes of a large cluster would take hundreds of megabytes.
func (w *nodeWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	// List the latest version. "0", any version, is not paged. Any other number means exactly that version, from which
	// a watch cannot continue once the API server has forgotten it.
	options.ResourceVersion = ""
	list, err := w.client.List(ctx, options)
	w.heard(ctx, err)
	if err != nil {
		return nil, err
	}
	for i, n := range list.Items {
		list.Items[i] = corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion},
			Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
		}
	}
	return list, nil
}

// WatchWithContext implements [cache.WatcherWithContext].
func (w *nodeWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	events, err := w.client.Watch(ctx, options)
	w.heard(ctx, err)
	return events, err
}

func (w *nodeWatch) heard(ctx context.Context, err error) {
	if context.Cause(ctx) != context.Canceled {
		w.status.report(partNodes, err)
	}
}

// Add implements [cache.ReflectorStore].
func (w *nodeWatch) Add(object any) error {
	n, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("unexpected %T", object)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := extract(n); w.nodes[n.Name] != now { // Kubelets update their nodes every few minutes without a change.
		w.nodes[n.Name] = now
		w.wake()
	}
	return nil
}

// Update implements [cache.ReflectorStore].
func (w *nodeWatch) Update(object any) error { return w.Add(object) }

// Delete implements [cache.ReflectorStore].
func (w *nodeWatch) Delete(object any) error {
	n, ok := object.(*corev1.Node)
	if !ok {
		return fmt.Errorf("unexpected %T", object)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, n.Name)
	w.wake()
	return nil
}

// Replace implements [cache.ReflectorStore].
func (w *nodeWatch) Replace(objects []any, _ string) error {
	nodes := map[string]node{}
	for _, object := range objects {
		if n, ok := object.(*corev1.Node); ok {
			nodes[n.Name] = extract(n)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nodes
	w.wake() // Even if there are no nodes: the list is known now.
	return nil
}

// Resync implements [cache.ReflectorStore].
func (w *nodeWatch) Resync() error { return nil }

func (w *nodeWatch) wake() {
	select {
	case w.changed <- struct{}{}:
	default: // A pending signal covers this change too.
	}
}
