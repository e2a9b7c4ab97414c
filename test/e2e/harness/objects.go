package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
)

// Client is the administrator's client.
func (c *Cluster) Client(t *testing.T) kubernetes.Interface { return c.ClientAt(t, Port) }

// ClientAt is for an API server at another port.
func (c *Cluster) ClientAt(t *testing.T, port int) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.configAt(port))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Namespaces makes namespaces that take only pods of the standard "restricted". Each has the
// service account that a controller would make.
func (c *Cluster) Namespaces(t *testing.T, names ...string) {
	t.Helper()
	c.namespaces(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/warn": "restricted"}, names)
}

// OpenNamespaces makes namespaces that take any pod, as agents that read a node's logs need.
func (c *Cluster) OpenNamespaces(t *testing.T, names ...string) {
	t.Helper()
	c.namespaces(t, nil, names)
}

func (c *Cluster) namespaces(t *testing.T, labels map[string]string, names []string) {
	t.Helper()
	client := c.Client(t)
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		_, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		if err == nil || apierrors.IsAlreadyExists(err) { // The API server makes some itself.
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			_, err = client.CoreV1().ServiceAccounts(name).Create(t.Context(), account, metav1.CreateOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// Decode reads a YAML stream.
func Decode(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
}

// Applier applies objects of any kind that the API server knew when it was made.
type Applier struct {
	client   dynamic.Interface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	warnings *warnings
}

// warnings keeps what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeaderWithContext implements [rest.WarningHandlerWithContext].
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.text
	w.text = nil
	return taken
}

// NewApplier makes an applier with the administrator's rights.
func (c *Cluster) NewApplier(t *testing.T) *Applier {
	t.Helper()
	a := &Applier{warnings: &warnings{}}
	config := c.Config()
	config.WarningHandlerWithContext = a.warnings
	var err error
	if a.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	a.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client(t).Discovery()))
	return a
}

// Knows is an error as long as the API server does not serve a kind. Kinds that it did not serve
// before are looked for again.
func (a *Applier) Knows(kind string) error {
	a.mapper.Reset()
	resource, err := a.mapper.ResourceFor(schema.GroupVersionResource{Resource: strings.ToLower(kind)})
	if err != nil {
		return err
	}
	_, err = a.mapper.KindFor(resource)
	return err
}

// Apply applies an object strictly, or only asks whether the API server would. What that warns
// of is an error.
func (a *Applier) Apply(t *testing.T, object *unstructured.Unstructured, dryRun bool) error {
	t.Helper()
	options := metav1.ApplyOptions{FieldManager: "e2e", Force: true}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err := a.ApplyAs(t, object, options)
	return err
}

// ApplyAs applies an object with options of its own, and returns what that made of it.
func (a *Applier) ApplyAs(t *testing.T, object *unstructured.Unstructured,
	options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	t.Helper()
	resource, err := a.Resource(object)
	if err != nil {
		return nil, err
	}
	applied, err := resource.Apply(t.Context(), object.GetName(), object, options)
	for _, w := range a.warnings.take() {
		err = errors.Join(err, fmt.Errorf("the API server warns: %s", w))
	}
	return applied, err
}

// Resource is where the API server keeps the objects of an object's kind and namespace.
func (a *Applier) Resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == "namespace" {
		return a.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return a.client.Resource(mapping.Resource), nil
}

// MustApply applies objects of some kinds, and no others.
func (a *Applier) MustApply(t *testing.T, objects []*unstructured.Unstructured, kinds ...string) {
	t.Helper()
	for _, o := range objects {
		for _, kind := range kinds {
			if o.GetKind() != kind {
				continue
			}
			if err := a.Apply(t, o, false); err != nil {
				t.Fatalf("%s %s: %v", kind, o.GetName(), err)
			}
		}
	}
}

// List lists the objects of a kind with a label, in all namespaces.
func (a *Applier) List(t *testing.T, apiVersion, kind, labels string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	of := schema.FromAPIVersionAndKind(apiVersion, kind)
	mapping, err := a.mapper.RESTMapping(of.GroupKind(), of.Version)
	if err != nil {
		return nil, err
	}
	list, err := a.client.Resource(mapping.Resource).List(t.Context(), metav1.ListOptions{LabelSelector: labels})
	if err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}
