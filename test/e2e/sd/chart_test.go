package sd

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

func chart() string { return filepath.Join(harness.Root(), "charts", "sd-aggregator") }

// helm runs Helm and returns what it prints.
func helm(t *testing.T, args ...string) []byte {
	t.Helper()
	command := exec.Command(harness.Helm().Path(), args...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return out
}

// render renders the chart as release sd-aggregator of a namespace.
func render(t *testing.T, namespace string, args ...string) []*unstructured.Unstructured {
	t.Helper()
	args = append([]string{"template", "sd-aggregator", chart(), "--namespace", namespace, "--kube-version",
		harness.KubernetesVersion}, args...)
	return harness.Decode(t, helm(t, args...))
}

// definitions are those of the kinds that the chart renders and Kubernetes does not have.
func definitions() map[string][]string {
	const operator = "github.com/prometheus-operator/prometheus-operator " +
		"example/prometheus-operator-crd/monitoring.coreos.com_"
	return map[string][]string{
		"ServiceMonitor": strings.Fields(operator + "servicemonitors.yaml"),
		"PrometheusRule": strings.Fields(operator + "prometheusrules.yaml"),
		"Certificate": strings.Fields(
			"github.com/cert-manager/cert-manager deploy/crds/cert-manager.io_certificates.yaml"),
	}
}

func install(t *testing.T, applier *harness.Applier) {
	t.Helper()
	for kind, from := range definitions() {
		text, err := harness.CRDFile(from[0], from[1])
		if err != nil {
			t.Fatal(err)
		}
		applier.MustApply(t, harness.Decode(t, text), "CustomResourceDefinition")
		harness.Eventually(t, kind, func() error { return applier.Knows(kind) })
	}
}

// TestChart: Helm finds no fault with the chart, and the API server none with what it renders,
// down to the last field and the security of pods.
func TestChart(t *testing.T) {
	applier := cluster.NewApplier(t)
	install(t, applier)
	paths, err := filepath.Glob(filepath.Join(chart(), "ci", "*-values.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no values: %v", err)
	}
	var kinds []string
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), "-values.yaml"), func(t *testing.T) {
			helm(t, "lint", "--strict", chart(), "--values", path, "--kube-version", harness.KubernetesVersion)
			objects := render(t, "monitoring", "--values", path)
			for _, o := range objects {
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
	for kind := range definitions() {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no values render a %s", kind)
		}
	}
}

// TestTheAPIServerRefuses: the check above can fail.
func TestTheAPIServerRefuses(t *testing.T) {
	applier := cluster.NewApplier(t)
	install(t, applier)
	cluster.Namespaces(t, "monitoring")
	for name, test := range map[string]struct {
		kind, want string
		break_     func(*unstructured.Unstructured) error
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
			objects := render(t, "monitoring", "--set", "metrics.serviceMonitor.enabled=true")
			o := objects[slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == test.kind
			})]
			if err := test.break_(o); err != nil {
				t.Fatal(err)
			}
			if err := applier.Apply(t, o, true); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
