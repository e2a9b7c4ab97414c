package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// lastApplied is the annotation with kubectl's copy of the whole object, including a Secret's data.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// readMetadata reads and checks the fields of metadata that users set. It drops those that a cluster sets, as
// in exports of kubectl.
func readMetadata(w rawObject) (metav1.ObjectMeta, findings) {
	var f findings
	raw, ok := w.raw["metadata"].(map[string]any)
	if !ok && w.raw["metadata"] != nil {
		f.fail(diag.InvalidMetadata, "metadata", "must be a mapping, is "+typeName(w.raw["metadata"]), "")
	}
	meta := metav1.ObjectMeta{
		Name:        f.metadataText(raw, "name"),
		Namespace:   f.metadataText(raw, "namespace"),
		Labels:      f.texts(raw["labels"], "metadata.labels", diag.InvalidMetadata),
		Annotations: f.texts(raw["annotations"], "metadata.annotations", diag.InvalidMetadata),
	}
	delete(meta.Annotations, lastApplied)
	f.checkAnnotations(w, meta.Annotations)
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !isMetadata(name) {
			f.unknownField(w.at, "metadata."+name, name, []string{"name", "namespace", "labels", "annotations"})
		}
	}
	f.checkName(meta.Name, w.kind, raw)
	switch {
	case passthrough.IsClusterScoped(w.kind):
		meta.Namespace = ""
	case isAbsent(raw["namespace"]) && w.opts.DefaultNamespace != "":
		meta.Namespace = w.opts.DefaultNamespace
		if !w.opts.inFolder {
			f.looksInDefault(w)
		}
	default:
		f.checkNamespace(meta.Namespace, raw, w.at.file)
	}
	f.checkLabels(&meta)
	return meta, f
}

// looksInDefault reports a monitor that looks for its targets in its own namespace, which is the default one.
func (f *findings) looksInDefault(w rawObject) {
	path, targets := "spec.namespaceSelector", ""
	switch w.kind {
	case monitoringv1.ServiceMonitorsKind:
		targets = "Services"
	case monitoringv1.PodMonitorsKind, v1alpha1.PodLogsKind:
		targets = "pods"
	case monitoringv1.ProbesKind:
		if path, targets = "spec.targets.ingress.namespaceSelector",
			"Ingresses"; lookup(w.raw, "spec.targets.ingress") == nil {
			return
		}
	default:
		return
	}
	selector, _ := lookup(w.raw, path).(map[string]any)
	if names, _ := selector["matchNames"].([]any); selector["any"] != true && len(names) == 0 {
		*f = append(*f, diag.DefaultNamespace.At("metadata",
			"has no namespace, so it is in the default namespace %s, and looks for %s only there",
			w.opts.DefaultNamespace, targets).WithHint("set metadata.namespace, or "+path))
	}
}

// isMetadata reports whether Kubernetes knows a field of metadata.
func isMetadata(name string) bool {
	switch name {
	case "name", "namespace", "labels", "annotations",
		"generateName", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers",
		"managedFields", "clusterName":
		return true
	}
	return false
}

// metadataText reads a string of metadata.
func (f *findings) metadataText(raw map[string]any, name string) string {
	value, ok := raw[name].(string)
	if !ok && raw[name] != nil {
		f.fail(diag.InvalidMetadata, "metadata."+name, "must be a string, is "+typeName(raw[name]), quoteIt(raw[name]))
	}
	return value
}

// texts reads a map of strings. Messages contain no values.
func (f *findings) texts(value any, path string, code diag.Code) map[string]string {
	raw, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			f.fail(code, path, "must be a mapping of strings, is "+typeName(value), "")
		}
		return nil
	}
	out := make(map[string]string, len(raw))
	for key, item := range raw {
		text, ok := item.(string)
		if !ok && item != nil {
			f.fail(code, path+"["+key+"]", "must be a string, is "+typeName(item), quoteIt(item))
		}
		out[key] = text
	}
	return out
}

// quoteIt returns the hint for a scalar that YAML reads as something else than a string.
func quoteIt(value any) string {
	switch value.(type) {
	case map[string]any, []any, nil:
		return ""
	}
	return quoteHint
}

// quoteHint is the hint, or begins it, where quotes make a value right.
const quoteHint = "quote it"

func (f *findings) checkName(name, kind string, raw map[string]any) {
	valid := apivalidation.NameIsDNSSubdomain
	switch {
	case kind == NamespaceKind:
		valid = apivalidation.NameIsDNSLabel
	case passthrough.HasFreeName(kind):
		valid = path.ValidatePathSegmentName
	}
	switch _, isText := raw["name"].(string); {
	case raw["name"] == nil && raw["generateName"] != nil:
		f.fail(diag.InvalidMetadata, "metadata.generateName",
			"is not enough: there is no cluster that would make a name", "set metadata.name")
	case isAbsent(raw["name"]):
		f.fail(diag.InvalidMetadata, "metadata.name", "is required", "")
	case isText && !isPlainName(name):
		for _, message := range valid(name, false) {
			f.fail(diag.InvalidMetadata, "metadata.name", fmt.Sprintf("%q: %s", name, diag.NameRule(message)), "")
		}
	}
}

func (f *findings) checkNamespace(namespace string, raw map[string]any, file string) {
	switch _, isText := raw["namespace"].(string); {
	case isAbsent(raw["namespace"]):
		f.fail(diag.MissingNamespace, "metadata.namespace", "is required",
			ifPatch(file, "set it, or a default for all: --namespace, or spec.defaultNamespace of the pipeline"))
	case isText && !isPlainName(namespace):
		for _, message := range apivalidation.ValidateNamespaceName(namespace, false) {
			f.fail(diag.InvalidMetadata, "metadata.namespace", fmt.Sprintf("%q: %s", namespace, diag.NameRule(message)),
				"")
		}
	}
}

func isAbsent(value any) bool { return value == nil || value == "" }

// checkLabels checks labels and annotations.
func (f *findings) checkLabels(meta *metav1.ObjectMeta) {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		if len(errs) > MaxFindings {
			break // more than are reported
		}
		value := meta.Labels[key]
		if !isPlainKey(key) || value != "" && !isPlainValue(value) {
			errs = append(errs, metav1validation.ValidateLabels(map[string]string{key: value},
				path.Child("labels").Key(key))...)
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		size += len(key) + len(meta.Annotations[key])
		if !isPlainKey(key) && len(errs) <= MaxFindings {
			annotation := map[string]string{key: ""}
			errs = append(errs, apivalidation.ValidateAnnotations(annotation, path.Child("annotations").Key(key))...)
		}
	}
	for _, err := range errs {
		f.fail(diag.InvalidMetadata, err.Field, diag.NameRule(err.Detail), "")
	}
	if size > apivalidation.TotalAnnotationSizeLimitB {
		f.fail(diag.InvalidMetadata, "metadata.annotations",
			fmt.Sprintf("hold %d bytes, more than %d", size, apivalidation.TotalAnnotationSizeLimitB), "")
	}
}

// typeName returns the name of a decoded value's type for messages.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	}
	return "a mapping"
}

// The functions below recognise the common forms of names, keys and values faster than the regular expressions
// of Kubernetes' validation. What they do not recognise can still be valid.

const (
	maxPlain  = 63  // of a DNS label, a label's value, and the name in a key
	maxPrefix = 253 // of the prefix of a key
)

// isPlainName reports whether a name is a DNS label.
func isPlainName(s string) bool {
	return isPlain(s, maxPlain, func(c byte) bool {
		return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
	}, "-")
}

// isPlainValue reports whether a label's value is valid and not empty.
func isPlainValue(s string) bool {
	return isPlain(s, maxPlain, isAlphanumeric, "-_.")
}

// isPlainKey reports whether the key of a label or annotation is valid: a name, or DNS labels joined by dots, a
// slash and a name.
func isPlainKey(s string) bool {
	prefix, name, found := strings.Cut(s, "/")
	if !found {
		return isPlainValue(s)
	}
	if len(prefix) > maxPrefix || !isPlainValue(name) {
		return false
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !isPlainName(label) {
			return false
		}
	}
	return true
}

// isPlain reports whether a text has 1 to limit characters: of the alphabet, and of others except at the
// beginning and the end.
func isPlain(s string, limit int, alphabet func(byte) bool, others string) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if alphabet(s[i]) {
			continue
		}
		if i == 0 || i == len(s)-1 || strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
