package docs

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// controllers runs those of Kubernetes without which pages would be wrong, and ends the pods of
// "helm test".
func controllers(t *testing.T) {
	t.Helper()
	cluster.Controllers(t, "serviceaccount-controller")
	pods := cluster.Client(t).CoreV1()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			list, err := pods.Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Pending"})
			if err != nil {
				continue // Asked again soon.
			}
			for _, p := range list.Items {
				if strings.HasPrefix(p.Annotations["helm.sh/hook"], "test") {
					p.Status.Phase = corev1.PodSucceeded
					_, _ = pods.Pods(p.Namespace).UpdateStatus(t.Context(), &p, metav1.UpdateOptions{})
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
	})
}

// namespaces makes namespaces.
func (s *session) namespaces(names ...string) {
	s.t.Helper()
	cluster.OpenNamespaces(s.t, names...)
}

// definitions makes the API server know kinds of agentry's inputs.
func (s *session) definitions(names ...string) {
	s.t.Helper()
	applier := cluster.NewApplier(s.t)
	for _, name := range names {
		text, err := harness.CRDFile("github.com/prometheus-operator/prometheus-operator",
			"example/prometheus-operator-crd/monitoring.coreos.com_"+name+".yaml")
		if err != nil {
			s.t.Fatal(err)
		}
		applier.MustApply(s.t, harness.Decode(s.t, text), "CustomResourceDefinition")
		harness.Eventually(s.t, "serve "+name, func() error { return applier.Knows(name) })
	}
}

// tidy takes out of the cluster what a page brought, for the next one. Kubernetes' own controller
// would take five seconds for each namespace.
func (s *session) tidy() {
	s.stop()
	client := cluster.Client(s.t)
	for _, name := range []string{"agentry", "monitoring", "team-shop"} {
		namespace, err := client.CoreV1().Namespaces().Get(s.t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			err = empty(s.t, name)
		}
		if err == nil {
			err = client.CoreV1().Namespaces().Delete(s.t.Context(), name, metav1.DeleteOptions{})
		}
		if err == nil {
			namespace.Spec.Finalizers, namespace.ResourceVersion = nil, ""
			_, err = client.CoreV1().Namespaces().Finalize(s.t.Context(), namespace, metav1.UpdateOptions{})
		}
		if err != nil {
			s.t.Errorf("tidy up %s: %v", name, err)
		}
	}
}

// empty deletes all objects of a namespace.
func empty(t *testing.T, namespace string) error {
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		return err
	}
	groups, err := cluster.Client(t).Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return err
	}
	for _, group := range groups {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return err
		}
		for _, r := range group.APIResources {
			if !slices.Contains(r.Verbs, "deletecollection") {
				continue
			}
			now := int64(0)
			resource := client.Resource(version.WithResource(r.Name)).Namespace(namespace)
			if err := resource.DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &now},
				metav1.ListOptions{}); err != nil {
				return fmt.Errorf("delete %s: %w", r.Name, err)
			}
		}
	}
	return nil
}

// get is what a service answers.
func get(url string) (string, error) {
	response, err := http.Get(url) //nolint:gosec,noctx // a service of this test
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	return string(text), err
}
