package telemetry

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// comparison is a conformance case whose monitors find something in testdata/cluster.yaml.
type comparison struct {
	name string
	up   int // targets that answer
}

func comparisons() []comparison {
	return []comparison{
		{"metrics-override-honor", 6},
		{"pm-selectors", 11},
		{"probe-ingress", 10},
		{"metrics-enforced-namespace-label", 5},
		{"real-kube-prometheus", 11},
	}
}

// reference lets one agent run what agentry renders of a case, another what the operator created of it, and a third
// what agentry renders for Alloy: all of their series are the same, with the same values.
func reference(t *testing.T, w *testbed) {
	for _, c := range comparisons() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(harness.Root(), "test", "conformance", "operator", c.name)
			w.runCase(t, c.name, "ours", render(t, "--secrets", "plaintext", filepath.Join(dir, "input.yaml")))
			w.runCase(t, c.name, "alloy", render(t, "--secrets", "plaintext", "--runtime", "alloy",
				filepath.Join(dir, "input.yaml")))
			w.runCase(t, c.name, "theirs", harness.Decode(t, read(t, filepath.Join(dir, "expected", "objects.yaml"))))
			harness.Eventually(t, "the same series", func() error { return c.same() })
		})
	}
}

func (c comparison) same() error {
	theirs, up, err := c.series("theirs")
	if err != nil {
		return err
	}
	for _, side := range []string{"ours", "alloy"} {
		ours, _, err := c.series(side)
		want := theirs
		if side == "alloy" {
			want, ours = comparable(want), comparable(ours)
		}
		if err == nil {
			err = differ(want, ours)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
	}
	if up != c.up {
		return fmt.Errorf("%d targets are up, not %d", up, c.up)
	}
	return nil
}

// comparable are series without those of which docs/alloy-reference.md says that they always differ.
func comparable(series []string) []string {
	return slices.DeleteFunc(slices.Clone(series), func(s string) bool {
		return strings.HasPrefix(s, "scrape_samples_post_metric_relabeling{")
	})
}

// series are those that one of the agents delivered, and how many targets are up.
func (c comparison) series(side string) (all []string, up int, err error) {
	samples, err := delivered(fmt.Sprintf("case=%q,side=%q", c.name, side))
	for _, s := range samples {
		delete(s.labels, "side")
		if s.labels["__name__"] == "up" && s.value == "1" {
			up++
		}
	}
	return lines(samples), up, err
}

// runCase runs the first metrics pod of a case, with Secrets of its own, so that another pod with
// others can run beside it.
func (w *testbed) runCase(t *testing.T, name, side string, objects []*unstructured.Unstructured) {
	t.Helper()
	var workload struct {
		Metadata metav1.ObjectMeta
		Spec     struct{ Template corev1.PodTemplateSpec }
	}
	secrets := map[string]corev1.Secret{}
	for _, o := range objects {
		switch {
		case o.GetKind() == "StatefulSet" && workload.Metadata.Name == "":
			convert(t, o, &workload)
		case o.GetKind() == "Secret":
			var s corev1.Secret
			convert(t, o, &s)
			secrets[s.Name] = s
		}
	}
	template := workload.Spec.Template
	prefix := name + "-" + side
	for i, v := range template.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		s := secrets[v.Secret.SecretName]
		template.Spec.Volumes[i].Secret.SecretName = prefix + "-" + s.Name
		w.create(t, aimed(t, s, name, side), prefix+"-"+s.Name, workload.Metadata.Namespace)
	}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: template.Spec}
	w.create(t, pod, prefix+"-0", workload.Metadata.Namespace)
	w.runs(t, workload.Metadata.Namespace, prefix, 1)
}

func convert(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	text, err := json.Marshal(o.Object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *testbed) create(t *testing.T, object any, name, namespace string) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetName(name)
	o.SetNamespace(namespace)
	w.apply(t, []*unstructured.Unstructured{o})
}

// aimed is a Secret of a case, in whose configuration nothing is changed but where series are
// sent, with labels that say whose they are, and that all targets are scraped each second.
func aimed(t *testing.T, s corev1.Secret, name, side string) *corev1.Secret {
	t.Helper()
	out := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: s.Data,
		StringData: s.StringData}
	const key = "agent.yml"
	labels := map[string]string{"case": name, "side": side}
	if native, ok := s.StringData[alloyKey]; ok {
		out.Data, out.StringData = nil, map[string]string{alloyKey: aimAlloy(native, labels)}
		return out
	}
	text := s.Data[key]
	if s.StringData[key] != "" {
		text = []byte(s.StringData[key])
	}
	if text == nil {
		return out
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	aim(config["metrics"].(map[string]any), labels)
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	out.Data, out.StringData = map[string][]byte{key: text}, nil
	return out
}

func aim(metrics map[string]any, labels map[string]string) {
	rules := []any{}
	for name, value := range labels {
		rules = append(rules, map[string]any{"target_label": name, "replacement": value})
	}
	for _, instance := range metrics["configs"].([]any) {
		instance := instance.(map[string]any)
		instance["remote_write"] = []any{map[string]any{
			"url": writeURL, "basic_auth": map[string]any{"username": user, "password": password},
			"write_relabel_configs": rules,
		}}
		for _, job := range instance["scrape_configs"].([]any) {
			job := job.(map[string]any)
			job["scrape_interval"], job["scrape_timeout"] = "1s", "1s"
		}
	}
}
