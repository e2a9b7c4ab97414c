// Package kubelist reads objects of a cluster: from the API server, page by page, or from what kubectl prints. Both are
// bounded, and nothing in the cluster is changed.
package kubelist

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// MaxBytes limits the text of an export, and the sum of what an API server answers.
const MaxBytes = 512 << 20

const (
	pageSize    = 200
	pageTimeout = time.Minute
	maxObjects  = 500_000
)

// Client lists objects. Its requests are sequential.
type Client struct {
	// Config has the limits of the client, for requests of other kinds.
	Config  *rest.Config
	objects dynamic.Interface
	read    int // objects
}

// New returns a client for an API server.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = pageTimeout
	config.QPS, config.Burst = 50, 100
	left := int64(MaxBytes)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bounded{next, &left} })
	objects, err := dynamic.NewForConfig(config)
	return &Client{Config: config, objects: objects}, err
}

// Query says which objects are listed.
type Query struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty: all
	Fields    string // a field selector
}

// List returns all objects of a query, each as keep returns it. If the list expires between two pages, it starts again.
func List[T any](ctx context.Context, c *Client, q Query, keep func(*unstructured.Unstructured) (T, error)) (out []T,
	err error) {
	again := true
	options := metav1.ListOptions{Limit: pageSize, FieldSelector: q.Fields}
	for {
		page, err := c.page(ctx, q, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" && again {
			again, options.Continue, out = false, "", nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.read += len(page.Items); c.read > maxObjects {
			return nil, fmt.Errorf("more than %d objects", maxObjects)
		}
		for i := range page.Items {
			item, err := keep(&page.Items[i])
			if err != nil {
				return nil, err
			}
			out = append(out, item)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}

func (c *Client) page(ctx context.Context, q Query, options metav1.ListOptions) (*unstructured.UnstructuredList,
	error) {
	of := c.objects.Resource(q.Resource)
	if q.Namespace != "" {
		return of.Namespace(q.Namespace).List(ctx, options)
	}
	return of.List(ctx, options)
}

// Rule returns a rule of a ClusterRole that lets people list resources of a group.
func Rule(group string, resources ...string) string {
	return fmt.Sprintf("{apiGroups: [%q], resources: [%s], verbs: [list]}", group, strings.Join(resources, ", "))
}

// bounded limits the total size of all responses.
type bounded struct {
	http.RoundTripper
	left *int64
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, b.left}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	left *int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, fmt.Errorf("the API server's answers are larger than %d MiB", MaxBytes>>20)
	}
	return n, err
}
