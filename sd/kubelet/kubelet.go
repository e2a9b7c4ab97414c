// Package kubelet keeps a headless Service with the addresses of all nodes' kubelets, as the
// Grafana Agent Operator does for --kubelet-service, so that ServiceMonitors for kubelet and
// cAdvisor find them. Nodes come and go in the cluster, so a render from Git cannot list them.
//
// Names, labels and ports are the operator's. The addresses are Endpoints, because the discovery role in rendered
// configurations is endpoints. Unlike the operator, it leaves out a node without a usable address instead of stopping
// for all nodes, and leaves alone an object that something else manages.
//
// With several replicas, a Lease elects the leader. Only the leader reads nodes and writes.
package kubelet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/agentry-dev/agentry/internal/lease"
)

const (
	syncTimeout    = 30 * time.Second
	settleTime     = time.Second // Many nodes can change at once: one write for all of them.
	resyncInterval = time.Minute // Only nodes are watched, but something else may change the Service.
	maxBackoff     = 30 * time.Second
)

// Client is a keeper's access to the API server. The clientset of client-go would be twice as large as the rest of the
// program.
type Client struct {
	Core   Core
	Leases lease.Leases // in the namespace of the Service
}

// Core has the clients for the three kinds of the core API that a keeper uses.
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
	// Identity is unique among the replicas: the name of the pod or host.
	Identity string
	Log      *slog.Logger
}

// Keeper keeps the Service up to date.
type Keeper struct {
	client  Client
	name    cache.ObjectName
	status  *status
	elector *lease.Elector
	// elected receives a context each time this replica is elected. The context ends when another replica is elected.
	elected chan context.Context
	demote  context.CancelFunc
}

// NewClient makes a client for a Service in a namespace.
func NewClient(config *rest.Config, namespace string) (Client, error) {
	config = rest.CopyConfig(config)
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json",
		"application/vnd.kubernetes.protobuf"
	config.WarningHandlerWithContext = rest.NoWarnings{} // Each write would warn that Endpoints are deprecated.
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return Client{}, err
	}
	core, coreErr := corev1client.NewForConfigAndClient(config, shared)
	leases, leasesErr := lease.NewClient(config, namespace)
	return Client{Core: core, Leases: leases}, errors.Join(coreErr, leasesErr)
}

// New makes a keeper. It works while Run runs.
func New(o Options) *Keeper {
	log := o.Log.With("object", o.Service.String())
	// The Lease is in the namespace of the Service, so that two installations for one Service do not both write it.
	elector := lease.New(lease.Options{Leases: o.Client.Leases, Name: "sd-aggregator-" + o.Service.Name,
		Identity: o.Identity, Log: log})
	return &Keeper{client: o.Client, name: o.Service, elector: elector, status: newStatus(log, elector),
		elected: make(chan context.Context, 1), demote: func() {}}
}

// Run stands for election and leads when elected, until ctx ends. It gives up the Lease after its last write has ended,
// so that two replicas never write at once.
func (k *Keeper) Run(ctx context.Context) {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.elector.Run(electing, member{k})
	}()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case elected := <-k.elected:
			k.lead(ctx, elected)
		}
	}
	stop()
	<-ended
}

// member implements [lease.Member] for a keeper.
type member struct{ *Keeper }

var _ lease.Member = member{}

// SetActive implements [lease.Member].
func (m member) SetActive(active bool) {
	m.demote()
	select {
	case <-m.elected: // Run has not received it.
	default:
	}
	if !active {
		return
	}
	var elected context.Context
	elected, m.demote = context.WithCancel(context.Background())
	m.elected <- elected
}

// Receive implements [lease.Member]. Keepers send nothing.
func (member) Receive(string) error { return nil }

// lead keeps the Service until ctx ends or another replica is elected.
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

// follow writes after each change of nodes, and every resyncInterval. It retries a failed write with back-off.
func (k *Keeper) follow(ctx context.Context, nodes *nodeWatch) {
	var again <-chan time.Time // It is nil until the nodes are known.
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
