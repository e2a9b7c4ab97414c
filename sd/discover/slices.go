package discover

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/agentry-dev/agentry/sd/merge"
)

// listTimeout bounds a list request: an overloaded API server may never finish it.
const listTimeout = 30 * time.Second

// Slices finds pods by EndpointSlices. It needs get, list and watch on them and nothing else.
type Slices struct {
	client  rest.Interface
	codec   runtime.ParameterCodec
	log     *slog.Logger
	watches []*sliceWatch

	mu      sync.Mutex
	changed func()
}

var _ Source = (*Slices)(nil)

// SlicesOptions are the settings of Slices.
type SlicesOptions struct {
	Config *rest.Config
	// Namespaces to watch, all if empty.
	Namespaces []string
	Log        *slog.Logger
}

// NewSlices makes a source. Its watches begin with Run.
func NewSlices(options SlicesOptions) (*Slices, error) {
	scheme := runtime.NewScheme()
	if err := discoveryv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(options.Config)
	config.APIPath, config.GroupVersion = "/apis", &discoveryv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json",
		"application/vnd.kubernetes.protobuf"
	config.QPS = -1 // There is a list and a watch for each namespace, with back-off: nothing to throttle.
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("api server: %w", err)
	}
	s := &Slices{client: client, codec: runtime.NewParameterCodec(scheme), log: options.Log}
	namespaces := options.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, n := range namespaces {
		s.watches = append(s.watches, &sliceWatch{slices: s, namespace: n, state: WatchWaiting,
			parts: map[cache.ObjectName]part{}})
	}
	return s, nil
}

// Run implements [Source].
func (s *Slices) Run(ctx context.Context, changed func()) {
	s.mu.Lock()
	s.changed = changed
	s.mu.Unlock()
	ctx = klog.NewContext(ctx, logr.Discard()) // enter logs each change of state once.
	silent := logr.Discard()
	var running sync.WaitGroup
	for _, w := range s.watches {
		reflector := cache.NewReflectorWithOptions(w, &discoveryv1.EndpointSlice{}, w, cache.ReflectorOptions{
			Name:   "endpointslices",
			Logger: &silent,
			// Wait at most 2 s: the default, 30 s, would hide pods long after the API server is back.
			Backoff: &wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.25,
				Cap: 1600 * time.Millisecond, Steps: 10},
		})
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
	running.Wait()
}

// Found implements [Source].
func (s *Slices) Found() Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Found{Synced: true}
	var parts []part
	for _, w := range s.watches {
		out.Synced = out.Synced && w.synced
		status := Watch{Name: w.namespace, State: w.state, Known: w.known, Error: w.err, Heard: w.heard}
		for _, p := range w.parts {
			parts = append(parts, p)
			status.Ignored = append(status.Ignored, p.ignored...)
		}
		out.Watches = append(out.Watches, status)
	}
	out.Pods, out.Agents = combine(parts)
	return out
}

// Sees implements [Source].
func (s *Slices) Sees(owner merge.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.watches, func(w *sliceWatch) bool {
		return w.known && (w.namespace == metav1.NamespaceAll || w.namespace == owner.Namespace)
	})
}

// sliceWatch is the watch of one namespace: the source of a reflector, and the store that it fills.
// The lock of Slices guards it.
type sliceWatch struct {
	slices    *Slices
	namespace string
	state     WatchState
	err       string
	// synced is set after the first list, even a forbidden one; known only after one that succeeded.
	synced, known bool
	heard         time.Time
	parts         map[cache.ObjectName]part
}

var (
	_ cache.ListerWatcherWithContext = (*sliceWatch)(nil)
	_ cache.ReflectorBookmarkStore   = (*sliceWatch)(nil)
)

// IsWatchListSemanticsUnSupported makes the reflector list: a streamed list has no deadline.
func (w *sliceWatch) IsWatchListSemanticsUnSupported() bool { return true }

func (w *sliceWatch) request(options *metav1.ListOptions) *rest.Request {
	options.LabelSelector = Label + "=" + LabelValue
	// By default, the client tries ten times, a second apart, before it returns an error.
	return w.slices.client.Get().MaxRetries(0).NamespaceIfScoped(w.namespace, w.namespace != "").
		Resource("endpointslices").VersionedParams(options, w.slices.codec)
}

// List implements [cache.Lister].
func (w *sliceWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), options)
}

// Watch implements [cache.Watcher].
func (w *sliceWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), options)
}

// ListWithContext implements [cache.ListerWithContext].
func (w *sliceWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list := &discoveryv1.EndpointSliceList{}
	err := w.request(&options).Do(ctx).Into(list)
	if err != nil {
		w.failed(ctx, err)
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements [cache.WatcherWithContext].
func (w *sliceWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	events, err := w.request(&options).Timeout(watchTimeout(options)).Watch(ctx)
	if err != nil {
		w.failed(ctx, err)
		return nil, err
	}
	w.hear(func() { w.enter(WatchGood, "") })
	return events, nil
}

func watchTimeout(options metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}

func (w *sliceWatch) failed(ctx context.Context, err error) {
	if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
		return // The watch is ending.
	}
	s := w.slices
	s.mu.Lock()
	defer s.mu.Unlock()
	if !apierrors.IsForbidden(err) {
		w.enter(WatchFailing, err.Error())
		return
	}
	w.enter(WatchForbidden, err.Error())
	if !w.synced {
		w.synced = true
		s.changed()
	}
}

// enter changes the state, and logs the change.
func (w *sliceWatch) enter(state WatchState, err string) {
	was := w.state
	w.state, w.err = state, err
	log := w.slices.log.With("namespace", w.namespace)
	switch {
	case was == state:
	case state == WatchGood && was != WatchWaiting:
		log.Info("watching endpointslices again")
	case state == WatchForbidden:
		log.Error("not allowed to watch endpointslices: the pods of this namespace are not found", "err", err)
	case state == WatchFailing:
		log.Warn("cannot watch endpointslices; the known pods are kept", "err", err)
	}
}

// hear applies a message of the API server.
func (w *sliceWatch) hear(apply func()) {
	w.slices.mu.Lock()
	defer w.slices.mu.Unlock()
	w.heard = time.Now()
	apply()
}
