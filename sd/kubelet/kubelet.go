// Package kubelet keeps a headless Service with the addresses of all nodes' kubelets, as the
// Grafana Agent Operator does for --kubelet-service, so that ServiceMonitors for kubelet and
// cAdvisor find them. Nodes come and go in the cluster, so a render from Git cannot list them.
//
// Names, labels and ports are the operator's, and the addresses are Endpoints, because the
// discovery role in rendered configurations is endpoints. Unlike the operator it leaves out a node
// without a usable address instead of stopping for all nodes, and it takes over no object that
// something else manages.
//
// One of several replicas leads, by a Lease. Only the leader reads nodes and writes.
package kubelet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

const (
	syncTimeout    = 30 * time.Second
	settleTime     = time.Second // Many nodes change at once: one write for all of them.
	resyncInterval = time.Minute // Others may change the Service, and only nodes are watched.
	maxBackoff     = 30 * time.Second
)

// Client asks the API server for a keeper. The clientset of client-go would be twice as large as the
// rest of the program.
type Client struct {
	Core   Core
	Leases coordinationv1client.LeasesGetter
}

// Core are the kinds of objects of the core API that a keeper knows.
type Core interface {
	corev1client.NodesGetter
	corev1client.ServicesGetter
	corev1client.EndpointsGetter
}

// Options are the settings of a Keeper. All must be set.
type Options struct {
	Client Client
	// Service is the namespace and name of the Service and its Endpoints.
	Service cache.ObjectName
	// Identity is unique to this process: earlier ones of the same name had another.
	Identity string
	Log      *slog.Logger
}

// Keeper keeps the Service.
type Keeper struct {
	client  Client
	name    cache.ObjectName
	status  *status
	elector *leaderelection.LeaderElector
	elected chan context.Context
}

// NewClient makes a client.
func NewClient(config *rest.Config) (Client, error) {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	config.WarningHandlerWithContext = rest.NoWarnings{} // Of each write: Endpoints are deprecated.
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return Client{}, err
	}
	core, coreErr := corev1client.NewForConfigAndClient(config, shared)
	leases, leasesErr := coordinationv1client.NewForConfigAndClient(config, shared)
	return Client{Core: core, Leases: leases}, errors.Join(coreErr, leasesErr)
}

// New makes a keeper. It works while Run runs.
func New(o Options) (*Keeper, error) {
	k := &Keeper{client: o.Client, name: o.Service, status: newStatus(o.Log.With("object", o.Service.String())), elected: make(chan context.Context, 1)}
	var err error
	k.elector, err = newElector(o.Client.Leases, o.Service, o.Identity, k.status, func(ctx context.Context) { k.elected <- ctx })
	return k, err
}

// Run stands for election and leads when elected, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		k.term(ctx)
	}
}

// term stands for election once, and leads if elected. The lease is released after the work has
// ended, so that no two replicas write.
func (k *Keeper) term(ctx context.Context) {
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard())) // The status logs what happens, once.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.elector.Run(electing)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	case elected := <-k.elected:
		k.lead(ctx, elected)
	}
	stop()
	<-ended
}

// lead keeps the Service until either ctx ends or the lease is lost.
func (k *Keeper) lead(ctx, elected context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(elected, cancel)()
	k.status.lead(true)
	defer k.status.lead(false)
	nodes := newNodeWatch(k.client.Core.Nodes(), k.status)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		nodes.run(ctx)
	}()
	k.follow(ctx, nodes)
	<-watched
}

// follow writes after changes of nodes, and every resyncInterval. A write that fails is retried with
// back-off; until then the API server keeps what it has.
func (k *Keeper) follow(ctx context.Context, nodes *nodeWatch) {
	var again <-chan time.Time // Not before the nodes are known.
	backoff := settleTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-nodes.changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(settleTime):
			}
		}
		err := k.sync(ctx, nodes.list())
		if ctx.Err() != nil {
			return
		}
		k.status.report(partService, err)
		if err != nil {
			again, backoff = time.After(backoff), min(2*backoff, maxBackoff)
			continue
		}
		again, backoff = time.After(resyncInterval), settleTime
	}
}
