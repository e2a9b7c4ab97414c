//lint:file-ignore SA1019 Endpoints are deprecated, but are what the rendered discovery role reads.

package kubelet

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentry-dev/agentry/internal/lease"
)

// client is the part of a typed client that sync uses.
type client[T metav1.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// sync brings the Service and its Endpoints up to date. It writes neither if something else manages one of them.
func (k *Keeper) sync(ctx context.Context, nodes []node) error {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	services, endpoints := k.client.Core.Services(k.name.Namespace), k.client.Core.Endpoints(k.name.Namespace)
	meta := metav1.ObjectMeta{Namespace: k.name.Namespace, Name: k.name.Name}
	service, serviceErr := get(ctx, services, "Service", &corev1.Service{ObjectMeta: meta})
	listed, endpointsErr := get(ctx, endpoints, "Endpoints", &corev1.Endpoints{ObjectMeta: meta})
	if err := errors.Join(serviceErr, endpointsErr); err != nil {
		return err
	}
	if err := put(ctx, k, services, "Service", service, withService(service)); err != nil {
		return err
	}
	if err := put(ctx, k, endpoints, "Endpoints", listed, withEndpoints(listed, nodes)); err != nil {
		return err
	}
	k.status.synced(nodes)
	return nil
}

// get returns the object, or empty if it does not exist. It is an error if something else manages the object.
func get[T metav1.Object](ctx context.Context, c client[T], kind string, empty T) (T, error) {
	found, err := c.Get(ctx, empty.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return empty, nil
	case err != nil:
		return empty, fmt.Errorf("get the %s: %w", kind, err)
	}
	return found, checkManager(kind, found)
}

// put writes want if it differs from found. If the object changed in the meantime, the API server refuses the write,
// and the next attempt sees the change.
func put[T metav1.Object](ctx context.Context, k *Keeper, c client[T], kind string, found, want T) error {
	ctx, cancel := context.WithTimeout(ctx, lease.Margin)
	defer cancel()
	var err error
	switch {
	case found.GetResourceVersion() != "" && equality.Semantic.DeepEqual(found, want):
		return nil
	case !k.elector.Owns():
		err = errors.New("the Lease could not be renewed for too long, so another replica may lead")
	case found.GetResourceVersion() == "":
		_, err = c.Create(ctx, want, metav1.CreateOptions{})
	default:
		_, err = c.Update(ctx, want, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the %s: %w", kind, err)
	}
	k.status.wrote(kind)
	return nil
}
