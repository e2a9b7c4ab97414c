package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
)

// lastApplied is where kubectl keeps a copy of the whole object, a Secret's data included.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// metadata reads the fields of metadata that a user sets, and reports what is wrong with
// them. Those that a cluster sets, as in exports of kubectl, are dropped.
func (r *reader) metadata() metav1.ObjectMeta {
	raw, ok := r.raw["metadata"].(map[string]any)
	if !ok && r.raw["metadata"] != nil {
		r.fail(diag.InvalidMetadata, "metadata", "must be a mapping, is "+typeName(r.raw["metadata"]), "")
	}
	meta := metav1.ObjectMeta{
		Name:        r.text(raw, "name"),
		Namespace:   r.text(raw, "namespace"),
		Labels:      r.texts(raw["labels"], "metadata.labels", diag.InvalidMetadata),
		Annotations: r.texts(raw["annotations"], "metadata.annotations", diag.InvalidMetadata),
	}
	delete(meta.Annotations, lastApplied)
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !isMetadata(name) {
			r.warn(diag.UnknownField, "metadata."+name, "unknown field, it is ignored",
				diag.DidYouMean(name, []string{"name", "namespace", "labels", "annotations"}))
		}
	}
	r.checkName(&meta, raw)
	r.checkLabels(&meta)
	return meta
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

// text reads a string of metadata.
func (r *reader) text(raw map[string]any, name string) string {
	value, ok := raw[name].(string)
	if !ok && raw[name] != nil {
		r.fail(diag.InvalidMetadata, "metadata."+name, "must be a string, is "+typeName(raw[name]), r.quoteIt(raw[name]))
	}
	return value
}

// texts reads a map of strings. Values never come into messages.
func (r *reader) texts(value any, path string, code diag.Code) map[string]string {
	raw, ok := value.(map[string]any)
	if !ok {
		if value != nil {
			r.fail(code, path, "must be a mapping of strings, is "+typeName(value), "")
		}
		return nil
	}
	out := make(map[string]string, len(raw))
	for key, item := range raw {
		text, ok := item.(string)
		if !ok && item != nil {
			r.fail(code, path+"["+key+"]", "must be a string, is "+typeName(item), r.quoteIt(item))
		}
		out[key] = text
	}
	return out
}

// quoteIt is the hint for a scalar that YAML takes for something else than a string.
func (r *reader) quoteIt(value any) string {
	switch value.(type) {
	case map[string]any, []any, nil:
		return ""
	}
	return "quote it"
}

// checkName checks the name and the namespace, and sets the default one.
func (r *reader) checkName(meta *metav1.ObjectMeta, raw map[string]any) {
	namespaced := r.object.Kind != namespaceKind
	valid := apivalidation.NameIsDNSSubdomain
	if !namespaced {
		valid = apivalidation.NameIsDNSLabel
	}
	switch _, isText := raw["name"].(string); {
	case raw["name"] == nil && raw["generateName"] != nil:
		r.fail(diag.InvalidMetadata, "metadata.generateName", "is not enough: there is no cluster that would make a name", "set metadata.name")
	case isAbsent(raw["name"]):
		r.fail(diag.InvalidMetadata, "metadata.name", "is required", "")
	case isText && !isPlainName(meta.Name):
		for _, message := range valid(meta.Name, false) {
			r.fail(diag.InvalidMetadata, "metadata.name", fmt.Sprintf("%q: %s", meta.Name, withoutExamples(message)), "")
		}
	}
	if !namespaced {
		meta.Namespace = ""
		return
	}
	switch _, isText := raw["namespace"].(string); {
	case isAbsent(raw["namespace"]) && r.opts.DefaultNamespace == "":
		r.fail(diag.MissingNamespace, "metadata.namespace", "is required", "set it, or a default namespace")
	case isAbsent(raw["namespace"]):
		meta.Namespace = r.opts.DefaultNamespace
	case isText && !isPlainName(meta.Namespace):
		for _, message := range apivalidation.ValidateNamespaceName(meta.Namespace, false) {
			r.fail(diag.InvalidMetadata, "metadata.namespace", fmt.Sprintf("%q: %s", meta.Namespace, withoutExamples(message)), "")
		}
	}
}

func isAbsent(value any) bool { return value == nil || value == "" }

// withoutExamples shortens what Kubernetes says of a bad name to what the rule is.
func withoutExamples(message string) string {
	rule, _, _ := strings.Cut(message, " (e.g. ")
	return rule
}

// checkLabels checks labels and annotations.
func (r *reader) checkLabels(meta *metav1.ObjectMeta) {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		if len(errs) > MaxFindings {
			break // reported are fewer
		}
		value := meta.Labels[key]
		if !isPlainKey(key) || value != "" && !isPlainValue(value) {
			errs = append(errs, metav1validation.ValidateLabels(map[string]string{key: value}, path.Child("labels").Key(key))...)
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
		r.fail(diag.InvalidMetadata, err.Field, withoutExamples(err.Detail), "")
	}
	if size > apivalidation.TotalAnnotationSizeLimitB {
		r.fail(diag.InvalidMetadata, "metadata.annotations",
			fmt.Sprintf("hold %d bytes, more than %d", size, apivalidation.TotalAnnotationSizeLimitB), "")
	}
}

// typeName is what a decoded value is called in messages.
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
