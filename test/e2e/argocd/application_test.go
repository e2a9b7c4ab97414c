//go:build argocd

package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// application is what Argo CD says of one.
type application struct {
	Metadata struct{ Annotations map[string]string }
	Status   struct {
		SourceType     string
		Sync           struct{ Status, Revision string }
		Health         struct{ Status string }
		Conditions     []struct{ Type, Message string }
		Resources      []resource
		History        []struct{ Revision string }
		OperationState struct {
			Phase, Message, StartedAt, FinishedAt string
			RetryCount                            int
			SyncResult                            struct {
				Resources []struct{ Kind, Namespace, Name, Status, Message string }
			}
		}
	}
}

// resource is an object of an application.
type resource struct {
	Kind, Namespace, Name, Status string
	RequiresPruning               bool
}

func (r resource) String() string { return r.Kind + "/" + r.Namespace + "/" + r.Name }

// String is what matters of it when something went wrong.
func (a application) String() string {
	s := a.Status
	text := fmt.Sprintf("%s at %.7s and %s; %s (%d retries): %s", s.Sync.Status, s.Sync.Revision, s.Health.Status,
		s.OperationState.Phase, s.OperationState.RetryCount, s.OperationState.Message)
	for _, c := range s.Conditions {
		text += fmt.Sprintf("\n  %s: %s", c.Type, c.Message)
	}
	for _, r := range s.OperationState.SyncResult.Resources {
		if r.Status == "SyncFailed" {
			text += fmt.Sprintf("\n  %s/%s/%s: %s", r.Kind, r.Namespace, r.Name, r.Message)
		}
	}
	for _, r := range s.Resources {
		if r.Status != "Synced" {
			text += fmt.Sprintf("\n  %s is %s", r, r.Status)
		}
	}
	return text
}

// resources are the names of its objects, sorted.
func (a application) resources() []string {
	var out []string
	for _, r := range a.Status.Resources {
		out = append(out, r.String())
	}
	slices.Sort(out)
	return out
}

// condition is what it says about a type of trouble.
func (a application) condition(kind string) string {
	for _, c := range a.Status.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// newApplication is an Application with nothing but its name.
func newApplication(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func (w *testbed) application(name string) (application, error) {
	var a application
	live, err := w.live(newApplication(name))
	if err != nil {
		return a, err
	}
	text, err := json.Marshal(live)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(text, &a)
}

// applications are the names of all, sorted.
func (w *testbed) applications() []string {
	w.t.Helper()
	resource, err := w.Resource(newApplication(""))
	if err != nil {
		w.t.Fatal(err)
	}
	list, err := resource.List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// await waits until an application is as somebody wants it, and returns it.
func (w *testbed) await(name, what string, is func(application) bool) application {
	w.t.Helper()
	var a application
	harness.Eventually(w.t, name+" "+what, func() (err error) {
		if a, err = w.application(name); err == nil && !is(a) {
			err = errors.New(a.String())
		}
		return err
	})
	return a
}

// synced waits until an application is Synced at a commit and Healthy.
func (w *testbed) synced(name, commit string) application {
	w.t.Helper()
	return w.await(name, "is Synced and Healthy at "+commit, func(a application) bool {
		return a.Status.Sync.Status == "Synced" && a.Status.Sync.Revision == commit &&
			a.Status.Health.Status == "Healthy" &&
			a.Status.OperationState.Phase == "Succeeded" && len(a.Status.Conditions) == 0
	})
}

// settled waits until agentry has rendered a commit and Argo CD has applied what came of it.
func (w *testbed) settled(input string) gitops.Status {
	w.t.Helper()
	s := gitops.Rendered(w.t, "prod", input)
	w.synced(rendered, s.Output.Commit)
	return s
}

// refreshed makes Argo CD compare the branch with the cluster from scratch, twice, with the page's
// commands. There must be no difference, and nothing to do.
func (w *testbed) refreshed() {
	w.t.Helper()
	before, err := w.application(rendered)
	if err != nil {
		w.t.Fatal(err)
	}
	was := w.inCluster()
	for range 2 {
		// Right after a sync Argo CD may take what its cache does not know yet for a difference.
		harness.Eventually(w.t, "the page's commands tell that it is Synced", func() error {
			said := w.sh("refresh=hard")
			for _, want := range []string{before.Status.Sync.Revision[:7], " Synced "} {
				if !strings.Contains(said, want) {
					return fmt.Errorf("nothing of %s in\n%s", want, said)
				}
			}
			return nil
		})
		after := w.await(rendered, "is compared", func(a application) bool {
			// Pods may still come and go.
			return a.Metadata.Annotations["argocd.argoproj.io/refresh"] == "" && a.Status.Health.Status == "Healthy"
		})
		if after.Status.Sync.Status != "Synced" {
			w.t.Errorf("after a hard refresh it is %s", after)
		}
		if after.Status.OperationState.StartedAt != before.Status.OperationState.StartedAt ||
			len(after.Status.History) != len(before.Status.History) {
			w.t.Errorf("after a hard refresh it was synced once more: %s", after)
		}
	}
	if names := gitops.Changed(was, w.inCluster()); len(names) > 0 {
		w.t.Errorf("hard refreshes changed: %q", names)
	}
}

// patch changes an application.
func (w *testbed) patch(name, patch string) {
	w.t.Helper()
	resource, err := w.Resource(newApplication(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := resource.Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err !=
		nil {
		w.t.Fatal(err)
	}
}

// forget deletes an application, and leaves what it has applied.
func (w *testbed) forget(name string) {
	w.t.Helper()
	resource, err := w.Resource(newApplication(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := resource.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.gone(newApplication(name))
}

// gone waits until an object is no more.
func (w *testbed) gone(o *unstructured.Unstructured) {
	w.t.Helper()
	harness.Eventually(w.t, o.GetKind()+" "+o.GetName()+" goes", func() error {
		if _, err := w.live(o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there, or not known to be gone: %v", err)
		}
		return nil
	})
}

// tracking is the mark by which Argo CD knows an object as its own.
func tracking(app string, o *unstructured.Unstructured) string {
	group := o.GroupVersionKind().Group
	return fmt.Sprintf("%s:%s/%s:%s/%s", app, group, o.GetKind(), o.GetNamespace(), o.GetName())
}
