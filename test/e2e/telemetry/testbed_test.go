package telemetry

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// testbed is a cluster with everything in it that agents may find.
type testbed struct {
	*harness.Applier
	*kubelet
}

func newTestbed(t *testing.T) *testbed {
	t.Helper()
	w := &testbed{Applier: cluster.NewApplier(t), kubelet: newKubelet(t)}
	startPrometheus(t)
	cluster.Controllers(t, "statefulset-controller", "daemonset-controller", "deployment-controller",
		"replicaset-controller",
		"endpoints-controller", "endpointslice-controller")
	w.apply(t, harness.Decode(t, read(t,
		filepath.Join(harness.Root(), "examples", "quickstart", "cluster", "rbac.yaml"))))
	w.apply(t, harness.Decode(t, read(t, filepath.Join("testdata", "cluster.yaml"))))
	return w
}

// apply applies objects, in namespaces that are made for them.
func (w *testbed) apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		w.namespace(t, o.GetNamespace())
		if err := w.Apply(t, o, false); err != nil {
			t.Fatalf("%s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
}

// namespace makes a namespace with what controllers would put there.
func (w *testbed) namespace(t *testing.T, name string) {
	t.Helper()
	if name == "" {
		return
	}
	cluster.OpenNamespaces(t, name)
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"},
		Data: map[string]string{"ca.crt": string(read(t, cluster.Config().CAFile))}}
	_, err := w.client.CoreV1().ConfigMaps(name).Create(t.Context(), ca, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// manifests are custom resources of a test, with what it renders them with.
type manifests struct {
	dir     string
	options []string
}

// newManifests copies a folder of testdata.
func newManifests(t *testing.T, folder string, options ...string) *manifests {
	t.Helper()
	m := &manifests{dir: t.TempDir(), options: options}
	if err := os.CopyFS(m.dir, os.DirFS(filepath.Join("testdata", folder))); err != nil {
		t.Fatal(err)
	}
	return m
}

// add adds a file of testdata.
func (m *manifests) add(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, filepath.Base(file)), read(t, filepath.Join("testdata", file)),
		0o600); err != nil {
		t.Fatal(err)
	}
}

func (m *manifests) render(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return render(t, append(slices.Clone(m.options), m.dir)...)
}

// render renders what the arguments say, without errors.
func render(t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return run(t, harness.Agentry(), append([]string{"render", "--compatibility", "operator"}, args...)...)
}

// run returns the objects that a program prints.
func run(t *testing.T, tool harness.Tool, args ...string) []*unstructured.Unstructured {
	t.Helper()
	command := exec.Command(tool.Path(), args...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, &complaints)
	}
	return harness.Decode(t, out)
}

// runs waits until as many pods run as there should be, whose names have a prefix.
func (w *testbed) runs(t *testing.T, namespace, prefix string, n int) {
	t.Helper()
	w.explain(t, namespace, prefix)
	harness.Eventually(t, "pods run", func() error {
		pods, err := w.starts(namespace, prefix)
		if err == nil && len(pods) != n {
			err = fmt.Errorf("there are %d pods %s/%s*, not %d", len(pods), namespace, prefix, n)
		}
		return err
	})
}
