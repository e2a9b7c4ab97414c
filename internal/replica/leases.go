package replica

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// labelReplicas is on every Lease of a fleet, with the fleet's name.
	labelReplicas = "agentry.dev/replicas"
	labelManaged  = "app.kubernetes.io/managed-by"
	// watchTime is how long a watch lasts before the API server ends it and we begin the next one.
	watchTime = 5 * time.Minute
)

// Leases are the Leases of one fleet in one namespace. Errors are those of the API server.
type Leases interface {
	List(ctx context.Context) (*coordinationv1.LeaseList, error)
	// Watch streams the changes after a version.
	Watch(ctx context.Context, version string) (watch.Interface, error)
	Get(ctx context.Context, name string) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	// Update replaces a Lease if it still has the given one's version.
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	// Patch merges JSON into a Lease.
	Patch(ctx context.Context, name string, merge []byte) (*coordinationv1.Lease, error)
	// Delete removes a Lease if it still has the given one's version.
	Delete(ctx context.Context, lease *coordinationv1.Lease) error
}

// Client reads and writes the Leases at the API server. It needs the rights to get, list, watch, create,
// update, patch and delete leases of its namespace, and no others.
type Client struct {
	rest      rest.Interface
	codec     runtime.ParameterCodec
	namespace string
	selector  string
}

var _ Leases = (*Client)(nil)

// NewClient makes a client for the Leases of a fleet. Its scheme has Leases only: client-go's clientset
// would link every kind of Kubernetes, 13 MB.
func NewClient(config *rest.Config, namespace, fleet string) (*Client, error) {
	if err := checkName(fleet); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &coordinationv1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"
	config.QPS = -1 // We bound what is sent at a time ourselves, and a renewal must not wait in a queue.
	// With HTTP/1.1 a request that is cancelled ends its connection. With HTTP/2 all requests would use
	// a dead connection until a ping is missed, which takes longer than a term lasts.
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("api server: %w", err)
	}
	return &Client{rest: client, codec: runtime.NewParameterCodec(scheme), namespace: namespace, selector: labelReplicas + "=" + fleet}, nil
}

// Config is how to reach the API server: by a kubeconfig file, or as a pod of the cluster.
func Config(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			err = errors.New("this is no pod of a cluster: --kubeconfig FILE leads to one from outside")
		}
		return config, err
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// List implements [Leases].
func (c *Client) List(ctx context.Context) (*coordinationv1.LeaseList, error) {
	out := &coordinationv1.LeaseList{}
	err := c.rest.Get().Namespace(c.namespace).Resource("leases").
		VersionedParams(&metav1.ListOptions{LabelSelector: c.selector}, c.codec).Do(ctx).Into(out)
	return out, err
}

// Watch implements [Leases].
func (c *Client) Watch(ctx context.Context, version string) (watch.Interface, error) {
	seconds := int64(watchTime / time.Second)
	return c.rest.Get().Namespace(c.namespace).Resource("leases").VersionedParams(&metav1.ListOptions{
		Watch: true, LabelSelector: c.selector, ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}, c.codec).Watch(ctx)
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

// Patch implements [Leases].
func (c *Client) Patch(ctx context.Context, name string, merge []byte) (*coordinationv1.Lease, error) {
	return c.lease(ctx, c.rest.Patch(types.MergePatchType).Name(name).Body(merge))
}

// Delete implements [Leases].
func (c *Client) Delete(ctx context.Context, lease *coordinationv1.Lease) error {
	return c.rest.Delete().Namespace(c.namespace).Resource("leases").Name(lease.Name).Body(&metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion},
	}).Do(ctx).Error()
}

func (c *Client) lease(ctx context.Context, request *rest.Request) (*coordinationv1.Lease, error) {
	out := &coordinationv1.Lease{}
	if err := request.Namespace(c.namespace).Resource("leases").Do(ctx).Into(out); err != nil {
		return nil, err
	}
	return out, nil
}

// maxNameBytes leaves room for the rest of a Lease's name; it is also a label's value.
const maxNameBytes = 63

func checkName(fleet string) error {
	if len(fleet) > maxNameBytes || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`).MatchString(fleet) {
		return fmt.Errorf("name of the replicas %q: must be up to %d lower-case letters, digits and dashes", fleet, maxNameBytes)
	}
	return nil
}

// maxIdentityBytes bounds a Lease's name together with maxNameBytes.
const maxIdentityBytes = 128

// memberName is the name of a member's Lease. Host names may have capitals and a dot at the end.
func memberName(fleet, identity string) (string, error) {
	clean := strings.ToLower(strings.Trim(identity, "."))
	if len(clean) > maxIdentityBytes || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`).MatchString(clean) {
		return "", fmt.Errorf("identity %q: must be a DNS name of up to %d characters", identity, maxIdentityBytes)
	}
	return fleet + memberInfix + clean, nil
}

const (
	memberInfix = "-member-"
	shardInfix  = "-shard-"
)

func shardName(fleet string, shard int) string {
	return fmt.Sprintf("%s%s%d", fleet, shardInfix, shard)
}
