package lease

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Leases reads and writes Leases in one namespace. It returns the API server's errors.
type Leases interface {
	Get(ctx context.Context, name string) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	// Update replaces a Lease if its version has not changed.
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Client reads and writes Leases at the API server. It needs the rights to get, create and update leases of
// its namespace, and no others.
type Client struct {
	rest      rest.Interface
	namespace string
}

var _ Leases = (*Client)(nil)

// NewClient makes a client for the Leases of a namespace. Its scheme has Leases only: client-go's clientset
// would link every kind of Kubernetes, 13 MB.
func NewClient(config *rest.Config, namespace string) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &coordinationv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json",
		"application/vnd.kubernetes.protobuf"
	config.QPS = -1 // A round makes few requests, and a renewal must not wait in a queue.
	// With HTTP/1.1 a request that is cancelled ends its connection. With HTTP/2 all requests would use
	// a dead connection until a ping is missed, which takes longer than the Lease can be trusted.
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("api server: %w", err)
	}
	return &Client{client, namespace}, nil
}

// Get implements [Leases].
func (c *Client) Get(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return c.lease(ctx, c.rest.Get().Name(name))
}

// Create implements [Leases].
func (c *Client) Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.lease(ctx, c.rest.Post().Body(lease))
}

// Update implements [Leases].
func (c *Client) Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.lease(ctx, c.rest.Put().Name(lease.Name).Body(lease))
}

func (c *Client) lease(ctx context.Context, request *rest.Request) (*coordinationv1.Lease, error) {
	out := &coordinationv1.Lease{}
	if err := request.Namespace(c.namespace).Resource("leases").Do(ctx).Into(out); err != nil {
		return nil, err
	}
	return out, nil
}
