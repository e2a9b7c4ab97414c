package harness

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Chart is a chart of agentry, which Helm renders.
type Chart struct {
	// Name is that of its folder below charts, and of the release.
	Name string
	// Least are the values that it cannot do without, as --set takes them.
	Least string
	// Kinds are those that it renders and Kubernetes does not have, with their definitions: module and path.
	Kinds map[string][2]string
}

// OperatorCRD is the definition of a kind of the Prometheus Operator.
func OperatorCRD(plural string) [2]string {
	return [2]string{"github.com/prometheus-operator/prometheus-operator",
		"example/prometheus-operator-crd/monitoring.coreos.com_" + plural + ".yaml"}
}

// CertificateCRD is the definition of cert-manager's Certificate.
func CertificateCRD() [2]string {
	return [2]string{"github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml"}
}

func (c Chart) folder() string { return filepath.Join(Root(), "charts", c.Name) }

// helm runs Helm and returns what it prints.
func helm(t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.Command(Helm().Path(), args...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return out
}

// Render renders the chart in a namespace.
func (c Chart) Render(t *testing.T, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	args = append([]string{"template", c.Name, c.folder(), "--namespace", namespace, "--kube-version",
		KubernetesVersion}, args...)
	return Decode(t, helm(t, args...))
}

// install tells a cluster the kinds that the chart renders.
func (c Chart) install(t *testing.T, applier *Applier) {
	t.Helper()
	for kind, from := range c.Kinds {
		text, err := CRDFile(from[0], from[1])
		if err != nil {
			t.Fatal(err)
		}
		applier.MustApply(t, Decode(t, text), "CustomResourceDefinition")
		Eventually(t, kind, func() error { return applier.Knows(kind) })
	}
}

// Check fails the test if Helm finds fault with the chart, or the API server with what the values below ci render, down
// to the last field and the security of pods; or if they do not render each of its kinds.
func (c Chart) Check(t *testing.T, cluster *Cluster, namespace string) {
	applier := cluster.NewApplier(t)
	c.install(t, applier)
	paths, err := filepath.Glob(filepath.Join(c.folder(), "ci", "*-values.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no values: %v", err)
	}
	var kinds []string
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), "-values.yaml"), func(t *testing.T) {
			helm(t, "lint", "--strict", c.folder(), "--values", path, "--kube-version", KubernetesVersion)
			for _, o := range c.Render(t, namespace, "--values", path) {
				if o.GetNamespace() != "" {
					cluster.Namespaces(t, o.GetNamespace())
				}
				if err := applier.Apply(t, o, true); err != nil {
					t.Errorf("%s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
				}
				kinds = append(kinds, o.GetKind())
			}
		})
	}
	for kind := range c.Kinds {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no values render a %s", kind)
		}
	}
}

// CheckRefusals shows that [Chart.Check] can fail: the API server refuses what is wrong in a chart that renders a
// ServiceMonitor.
func (c Chart) CheckRefusals(t *testing.T, cluster *Cluster, namespace string) {
	applier := cluster.NewApplier(t)
	c.install(t, applier)
	cluster.Namespaces(t, namespace)
	values := strings.TrimPrefix(c.Least+",metrics.serviceMonitor.enabled=true", ",")
	for name, test := range map[string]struct {
		kind, want string
		spoil      func(*unstructured.Unstructured) error
	}{
		"an unknown field": {"Deployment", "field not declared in schema", func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, int64(1), "spec", "replicaz")
		}},
		"an unknown field of a custom resource": {"ServiceMonitor", "field not declared in schema",
			func(o *unstructured.Unstructured) error {
				return unstructured.SetNestedField(o.Object, "1s", "spec", "intervall")
			}},
		"a bad port": {"Service", "spec.ports[0].port", func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedSlice(o.Object, []any{map[string]any{"port": int64(70000)}}, "spec", "ports")
		}},
		"pods with rights": {"Deployment", "would violate PodSecurity", func(o *unstructured.Unstructured) error {
			return unstructured.SetNestedField(o.Object, true, "spec", "template", "spec", "hostNetwork")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := c.Render(t, namespace, "--set", values)
			o := objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == test.kind
			})]
			if err := test.spoil(o); err != nil {
				t.Fatal(err)
			}
			if err := applier.Apply(t, o, true); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
