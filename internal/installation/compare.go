package installation

import (
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Comparison describes the effects on the live workloads of applying the rendered objects.
type Comparison struct {
	// Live counts the live workloads that are rendered too.
	Live int
	*difference.Difference
	// Absent are rendered workloads that are not live, and LeftOver live ones of a GrafanaAgent that are not rendered.
	Absent, LeftOver []manifest.ID
}

// With returns the workloads with a consequence.
func (c *Comparison) With(kind difference.Kind) (out []string) {
	for _, found := range c.Consequences {
		if found.Kind == kind && !slices.Contains(out, found.Subject) {
			out = append(out, found.Subject)
		}
	}
	return out
}

// Why returns the changes in the workloads, as text.
func (c *Comparison) Why() []difference.Section {
	var objects []difference.Object
	for _, o := range c.Objects {
		if workload.IsWorkload(o.ID.Kind) {
			objects = append(objects, o)
		}
	}
	return (&difference.Difference{Objects: objects}).Details()
}

// Compare compares workloads and the Secrets with their configurations. It ignores fields that the API server sets.
func (in *Installation) Compare(units []*generator.Unit) (*Comparison, error) {
	c := &Comparison{}
	var before, after []difference.Manifest
	rendered := map[manifest.ID]bool{}
	for _, u := range units {
		for _, f := range u.Files {
			rendered[f.Object] = true
			live := in.objects[f.Object]
			isPods := workload.IsWorkload(f.Object.Kind)
			switch {
			case !isPods && f.Object.Kind != "Secret":
				continue
			case live == nil && isPods:
				c.Absent = append(c.Absent, f.Object)
			}
			if live == nil {
				continue
			}
			var now unstructured.Unstructured
			if err := yaml.Unmarshal(f.Data, &now.Object); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Object, err)
			}
			was, is, err := normalPair(live, &now)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Object, err)
			}
			if isPods {
				c.Live++
			}
			before = append(before, difference.Manifest{Unit: u.Name, ID: f.Object,
				Version: difference.Version{Text: was}})
			after = append(after, difference.Manifest{Unit: u.Name, ID: f.Object,
				Version: difference.Version{Text: is}})
		}
	}
	c.Difference = difference.Compare(difference.Match(before, after))
	for _, o := range in.of("StatefulSet", "DaemonSet", "Deployment") {
		if id := idOf(o); !rendered[id] && isMade(o) {
			c.LeftOver = append(c.LeftOver, id)
		}
	}
	return c, nil
}

// isMade reports whether the operator created the object: a GrafanaAgent owns it, or did before it was handed over.
func isMade(o *unstructured.Unstructured) bool {
	return o.GetLabels()["app.kubernetes.io/managed-by"] == "grafana-agent-operator" ||
		slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return r.Kind == v1alpha1.GrafanaAgentKind
		})
}

// normalPair returns the manifests of a live object and of the object that is applied over it, both with the API
// server's defaults, and without metadata, which does not affect pods.
func normalPair(live, applied *unstructured.Unstructured) (before, after []byte, err error) {
	if live.GetKind() == "Secret" {
		before, err = secret(live)
		if err != nil {
			return nil, nil, err
		}
		after, err = secret(applied)
		return before, after, err
	}
	spec, _, _ := unstructured.NestedMap(live.Object, "spec")
	wanted, _, _ := unstructured.NestedMap(applied.Object, "spec")
	keep(wanted, spec)
	if before, err = normalWorkload(live, spec); err != nil {
		return nil, nil, err
	}
	after, err = normalWorkload(live, wanted)
	return before, after, err
}

// keep adds the fields of a live object that the applied one does not have: they stay unchanged. Templates and
// selectors are replaced as a whole, as far as it matters: the operator wrote all of their fields.
func keep(applied, live map[string]any) {
	for field, value := range live {
		mine, named := applied[field]
		if !named {
			applied[field] = value
			continue
		}
		a, isMap := mine.(map[string]any)
		b, wasMap := value.(map[string]any)
		if isMap && wasMap && field != "template" && field != "selector" {
			keep(a, b)
		}
	}
}

// secret returns the manifest of a Secret, with text values as text.
func secret(o *unstructured.Unstructured) ([]byte, error) {
	texts, data := map[string]any{}, map[string]any{}
	written, _, _ := unstructured.NestedStringMap(o.Object, "stringData")
	for key, text := range written {
		texts[key] = text
	}
	encoded, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for key, value := range encoded {
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("data.%s is not base64", key)
		}
		if utf8.Valid(text) {
			texts[key] = string(text)
			continue
		}
		data[key] = value
	}
	out := named(o)
	if len(texts) > 0 {
		out["stringData"] = texts
	}
	if len(data) > 0 {
		out["data"] = data
	}
	return yaml.Marshal(out)
}

func named(o *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(),
		"metadata": map[string]any{"name": o.GetName(), "namespace": o.GetNamespace()}}
}

// normalWorkload returns the manifest of a workload with the defaults of its pods and claims.
func normalWorkload(o *unstructured.Unstructured, spec map[string]any) ([]byte, error) {
	text, err := yaml.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var typed any
	switch o.GetKind() {
	case "StatefulSet":
		s := &appsv1.StatefulSetSpec{}
		err = yaml.Unmarshal(text, s)
		setPodDefaults(&s.Template)
		for i := range s.VolumeClaimTemplates {
			setClaimDefaults(&s.VolumeClaimTemplates[i].Spec)
			s.VolumeClaimTemplates[i].TypeMeta.APIVersion, s.VolumeClaimTemplates[i].TypeMeta.Kind = "v1",
				"PersistentVolumeClaim"
			s.VolumeClaimTemplates[i].Status = corev1.PersistentVolumeClaimStatus{}
		}
		typed = s
	case "DaemonSet":
		s := &appsv1.DaemonSetSpec{}
		err = yaml.Unmarshal(text, s)
		setPodDefaults(&s.Template)
		typed = s
	default:
		s := &appsv1.DeploymentSpec{}
		err = yaml.Unmarshal(text, s)
		setPodDefaults(&s.Template)
		typed = s
	}
	if err != nil {
		return nil, err
	}
	out := named(o)
	out["spec"] = typed
	return yaml.Marshal(out)
}
