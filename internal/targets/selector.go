package targets

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/model"
)

// discovery is a discovery in Kubernetes.
type discovery struct {
	role         string
	namespaces   []string // none: all
	attachesNode bool
	selectors    map[string]selector // by role
}

// selector hides objects of a role.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

// selectorsOf returns the selectors of a discovery, or why they cannot be computed.
func selectorsOf(list []model.RoleSelector) (out map[string]selector, why string) {
	for _, s := range list {
		of, err := labels.Parse(s.Label)
		where, wrong := fields.ParseSelector(s.Field)
		if err != nil || wrong != nil {
			return nil, "a selector of role " + s.Role + " that is not valid"
		}
		for _, r := range where.Requirements() {
			if _, isKnown := fieldsOf(r.Field, nil); !isKnown {
				return nil, "a selector over the field " + r.Field
			}
		}
		if out == nil {
			out = map[string]selector{}
		}
		out[s.Role] = selector{of, where}
	}
	return out, ""
}

// shows reports whether the discovery sees an object of a role.
func (d *discovery) shows(role string, o metav1.Object) bool {
	s, selects := d.selectors[role]
	if !selects {
		return true
	}
	return s.labels.Matches(labels.Set(o.GetLabels())) && !slices.ContainsFunc(s.fields.Requirements(),
		func(r fields.Requirement) bool {
			value, _ := fieldsOf(r.Field, o)
			return (value == r.Value) != (r.Operator != "!=")
		})
}

// selected returns the selectors of a discovery as they are written.
func (d *discovery) selected() string {
	var out []string
	for _, role := range sortedKeys(d.selectors) {
		s := d.selectors[role]
		for _, text := range []string{s.labels.String(), s.fields.String()} {
			if text != "" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}

// fieldsOf returns a field of an object that the API server selects by, and whether there is such a field.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
func fieldsOf(field string, o metav1.Object) (value string, isKnown bool) {
	switch field {
	case "metadata.name":
		if o != nil {
			value = o.GetName()
		}
		return value, true
	case "metadata.namespace":
		if o != nil {
			value = o.GetNamespace()
		}
		return value, true
	}
	known := map[string]func(metav1.Object) string{
		"spec.nodeName":           ofKind(func(p *corev1.Pod) string { return p.Spec.NodeName }),
		"spec.restartPolicy":      ofKind(func(p *corev1.Pod) string { return string(p.Spec.RestartPolicy) }),
		"spec.schedulerName":      ofKind(func(p *corev1.Pod) string { return p.Spec.SchedulerName }),
		"spec.serviceAccountName": ofKind(func(p *corev1.Pod) string { return p.Spec.ServiceAccountName }),
		"spec.hostNetwork": ofKind(func(p *corev1.Pod) string {
			return strconv.FormatBool(p.Spec.HostNetwork)
		}),
		"status.phase":             ofKind(func(p *corev1.Pod) string { return string(p.Status.Phase) }),
		"status.podIP":             ofKind(func(p *corev1.Pod) string { return p.Status.PodIP }),
		"status.nominatedNodeName": ofKind(func(p *corev1.Pod) string { return p.Status.NominatedNodeName }),
		"spec.unschedulable": ofKind(func(n *corev1.Node) string {
			return strconv.FormatBool(n.Spec.Unschedulable)
		}),
		"spec.clusterIP": ofKind(func(s *corev1.Service) string { return s.Spec.ClusterIP }),
		"spec.type":      ofKind(func(s *corev1.Service) string { return string(s.Spec.Type) }),
	}
	of, isKnown := known[field]
	if isKnown && o != nil {
		value = of(o)
	}
	return value, isKnown
}

// ofKind returns a field of objects of one type, which others do not have.
func ofKind[T metav1.Object](field func(T) string) func(metav1.Object) string {
	return func(o metav1.Object) string {
		if of, is := o.(T); is {
			return field(of)
		}
		return ""
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
