// Package passthrough decides which objects of the inputs a pipeline copies to its output besides the rendered ones:
// objects of the kinds that the pipeline names.
//
// [Parse] reads names of kinds, and refuses kinds that must not be copied: those that agentry renders from, those that
// Flux and Argo CD act on, and those that take other objects or data with them when they are pruned. Package manifest
// reads the objects, like all others.
package passthrough

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// MaxKinds limits the kinds that a pipeline names.
const MaxKinds = 100

// Kinds are the kinds to copy, sorted, as Kind.group joined by commas. It is a string so that options can be compared.
type Kinds string

// groups has the group of each kind that is well known enough to be named without it. The core group is "".
var groups = map[string]string{
	"ServiceAccount": "", "Service": "", "ConfigMap": "", "Secret": "", "LimitRange": "", "ResourceQuota": "",
	"Role": rbacv1.GroupName, "RoleBinding": rbacv1.GroupName, "ClusterRole": rbacv1.GroupName,
	"ClusterRoleBinding": rbacv1.GroupName,
	"NetworkPolicy":      networkingv1.GroupName, "Ingress": networkingv1.GroupName,
	"Deployment": appsv1.GroupName, "StatefulSet": appsv1.GroupName, "DaemonSet": appsv1.GroupName,
	"CronJob": "batch", "PodDisruptionBudget": "policy", "HorizontalPodAutoscaler": "autoscaling",
	"PriorityClass": "scheduling.k8s.io",
	"SealedSecret":  "bitnami.com", "ExternalSecret": externalSecrets, "SecretStore": externalSecrets,
	"ClusterExternalSecret": externalSecrets, "ClusterSecretStore": externalSecrets,
	"PrometheusRule": monitoring, "AlertmanagerConfig": monitoring,
}

const (
	externalSecrets = "external-secrets.io"
	monitoring      = "monitoring.coreos.com"
)

// Parse reads names of kinds: Kind, as in ServiceAccount, or Kind.group, as in Certificate.cert-manager.io. If a name
// is wrong, it returns its index, an error and a hint.
func Parse(names []string) (kinds Kinds, index int, hint string, err error) {
	if len(names) > MaxKinds {
		return "", MaxKinds, "", fmt.Errorf("more than %d kinds", MaxKinds)
	}
	found := map[string]string{} // groups by kind
	for i, name := range names {
		kind, group, hint, err := parse(name)
		if err != nil {
			return "", i, hint, err
		}
		if other, ok := found[kind]; ok && other != group {
			return "", i, "name one of the two, and leave the other to another pipeline",
				fmt.Errorf("%s is named with two groups, but agentry identifies objects by kind, namespace and name",
					kind)
		}
		found[kind] = group
	}
	all := make([]string, 0, len(found))
	for kind, group := range found {
		all = append(all, kind+"."+group)
	}
	slices.Sort(all)
	return Kinds(strings.Join(all, ",")), -1, "", nil
}

func parse(name string) (kind, group, hint string, err error) {
	kind, group, hasGroup := strings.Cut(name, ".")
	if strings.Contains(name, "*") {
		return "", "", "name each kind",
			fmt.Errorf("%q: patterns are not allowed, because a new kind in the inputs would reach the cluster "+
				"unnoticed", name)
	}
	if !isKind(kind) || hasGroup &&
		(group == "" || strings.Trim(group, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "") {
		return "", "", "write Kind or Kind.group, as in ServiceAccount or Certificate.cert-manager.io",
			fmt.Errorf("%q is not the name of a kind", name)
	}
	if !hasGroup {
		group = groups[kind]
	}
	if reason, hint := refused(kind, group); reason != "" {
		return "", "", hint, fmt.Errorf("%s cannot be passed through: %s", name, reason)
	}
	if _, known := groups[kind]; !hasGroup && !known {
		hint := diag.DidYouMean(kind, slices.Sorted(maps.Keys(groups)))
		if hint == "" {
			hint = "name its group as well, as in Certificate.cert-manager.io"
		}
		return "", "", hint, fmt.Errorf("%s is not a kind whose group is known", kind)
	}
	return kind, group, "", nil
}

// isKind reports whether a text is a kind: a capital letter, and then letters and digits.
func isKind(text string) bool {
	if text == "" || text[0] < 'A' || text[0] > 'Z' || len(text) > 63 {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// refused returns why a kind must not be copied, and what to do instead.
func refused(kind, group string) (reason, hint string) {
	elsewhere := "leave it out, and let Flux or Argo CD apply it from its present place"
	switch kind {
	case "Namespace":
		return "pruning it deletes everything in the namespace", elsewhere
	case "PersistentVolume", "PersistentVolumeClaim":
		return "pruning it deletes its data", elsewhere
	case "CustomResourceDefinition":
		return "pruning it deletes all objects of its kind", elsewhere
	case "GrafanaAgent", "MetricsInstance", "LogsInstance", "PodLogs", "Integration", "MetricsIntegration",
		"IntegrationMonitor":
		if group == "" {
			group = "monitoring.grafana.com"
		}
	case "ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig":
		if group == "" || group == monitoring {
			return "agentry renders from it, and an operator in the cluster would render it again", "leave it out"
		}
	}
	switch {
	case group == "monitoring.grafana.com":
		return "agentry renders from it, and an operator in the cluster would render it again", "leave it out"
	case strings.HasSuffix(group, "toolkit.fluxcd.io"):
		return "Flux acts on it, but the objects that Flux would apply are not in the output", elsewhere
	case group == "argoproj.io":
		return "Argo CD acts on it, but the objects that Argo CD would apply are not in the output", elsewhere
	case group == "admissionregistration.k8s.io", group == "apiregistration.k8s.io":
		return "it changes which requests the API server accepts", elsewhere
	}
	return "", ""
}

// Has reports whether objects of a kind are copied.
func (k Kinds) Has(apiVersion, kind string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return k.has(kind + "." + group)
}

// HasKind reports whether objects of a kind are copied, regardless of its group.
func (k Kinds) HasKind(kind string) bool {
	for name := range strings.SplitSeq(string(k), ",") {
		if one, _, found := strings.Cut(name, "."); found && one == kind {
			return true
		}
	}
	return false
}

func (k Kinds) has(name string) bool {
	if k == "" {
		return false
	}
	for one := range strings.SplitSeq(string(k), ",") {
		if one == name {
			return true
		}
	}
	return false
}

// Names returns the names of the kinds as users can write them, sorted.
func (k Kinds) Names() (names []string) {
	if k == "" {
		return nil
	}
	for name := range strings.SplitSeq(string(k), ",") {
		kind, group, _ := strings.Cut(name, ".")
		if known, ok := groups[kind]; ok && known == group {
			name = kind
		}
		names = append(names, name)
	}
	return names
}

// IsClusterScoped reports whether objects of a kind have no namespace. It assumes so for kinds outside Kubernetes
// whose name begins with Cluster.
func IsClusterScoped(kind string) bool {
	return kind == "Namespace" || kind == "PriorityClass" || strings.HasPrefix(kind, "Cluster")
}

// HasFreeName reports whether the names of a kind's objects may contain characters that most kinds do not allow.
func HasFreeName(kind string) bool {
	return strings.TrimPrefix(kind, "Cluster") == "Role" || strings.TrimPrefix(kind, "Cluster") == "RoleBinding"
}

// New returns an empty Go value of a kind for checking its fields, or nil for an unknown kind.
func New(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "v1 Service":
		return &corev1.Service{}
	case "v1 LimitRange":
		return &corev1.LimitRange{}
	case "v1 ResourceQuota":
		return &corev1.ResourceQuota{}
	case "rbac.authorization.k8s.io/v1 Role":
		return &rbacv1.Role{}
	case "rbac.authorization.k8s.io/v1 RoleBinding":
		return &rbacv1.RoleBinding{}
	case "rbac.authorization.k8s.io/v1 ClusterRole":
		return &rbacv1.ClusterRole{}
	case "rbac.authorization.k8s.io/v1 ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "apps/v1 DaemonSet":
		return &appsv1.DaemonSet{}
	}
	return nil
}

// Fields returns the names of the fields at a path of a Kubernetes Go value: spec.ports[0], or "" for the object
// itself. It returns nil if the value has no such path.
func Fields(value any, path string) []string {
	at := reflect.TypeOf(value)
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' }) {
		name, index, _ := strings.Cut(step, "[")
		if at = fieldsOf(at)[name]; at == nil {
			return nil
		}
		for range strings.Count(index, "]") {
			if at.Kind() != reflect.Slice && at.Kind() != reflect.Map {
				return nil
			}
			at = at.Elem()
		}
	}
	return slices.Sorted(maps.Keys(fieldsOf(at)))
}

// fieldsOf returns the types of a struct's fields by their JSON names. It follows pointers.
func fieldsOf(at reflect.Type) map[string]reflect.Type {
	for at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	out := map[string]reflect.Type{}
	if at.Kind() != reflect.Struct {
		return out
	}
	for field := range at.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "":
			out[name] = field.Type
		case field.Anonymous:
			maps.Copy(out, fieldsOf(field.Type))
		}
	}
	return out
}
