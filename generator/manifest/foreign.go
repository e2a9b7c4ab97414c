package manifest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/passthrough"
)

// maxPassedBytes limits an object that is passed through to what Kubernetes stores.
const maxPassedBytes = 1 << 20

// Foreign is the value of an object that is only passed through: agentry does not read its kind, or it is encrypted.
type Foreign struct {
	metav1.ObjectMeta
	// Clear is the path of a value that is not encrypted, of a Secret that SOPS has encrypted otherwise.
	Clear string
}

// emptyValue returns an empty value for an object, or nil if it is neither read nor passed through.
func (p *parser) emptyValue(apiVersion, kind string, raw map[string]any) typed {
	value := newValue(apiVersion, kind)
	if p.opts.PassThrough.Has(apiVersion, kind) && (value == nil || raw["sops"] != nil) {
		return &Foreign{}
	}
	if isScrapeConfig(apiVersion, kind) && p.opts.Compatibility == Operator {
		return nil
	}
	return value
}

// readForeign reads an object of which only the metadata is of interest. What the API server would refuse is an error.
func readForeign(w rawObject, value *Foreign, found findings) findings {
	f := found
	if w.raw["sops"] != nil {
		sops, _ := w.raw["sops"].(map[string]any)
		if mac, _ := sops["mac"].(string); mac == "" {
			f.fail(diag.EncryptedSecret, "sops", "is not what SOPS writes: it has no mac",
				"encrypt the file again, with sops")
		}
		if w.kind == "Secret" {
			value.Clear = clearValue(w.raw)
		}
		return f
	}
	raw := maps.Clone(w.raw)
	delete(raw, "metadata") // readMetadata has read it
	typed := passthrough.New(w.apiVersion, w.kind)
	if typed == nil {
		return f
	}
	f.strictly(w.at, raw, typed)
	return f
}

// Convert reads the fields of an object that nobody wrote as it is, such as a patched one, into a pointer to its Go
// type. It reports what the API server would refuse: values of the wrong type, and fields that the type does not have.
func Convert(object map[string]any, typed any) diag.List {
	if wrong := convert(object, typed); wrong != nil {
		return diag.List{*wrong}
	}
	var f findings // Kubernetes' converter cuts numbers that are too large, so its value is not used
	f.strictly(unwritten{}, object, reflect.New(reflect.TypeOf(typed).Elem()).Interface())
	return diag.List(f)
}

// unwritten has no field that somebody wrote.
type unwritten struct{}

func (unwritten) has(string) bool { return false }

// strictly reports what Kubernetes' converter finds in the fields of an object, which it puts into a pointer to its Go
// type. The converter names unknown fields with their paths.
func (f *findings) strictly(at fields, raw map[string]any, typed any) {
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, typed, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, one := range strict.Errors() {
			f.unknownIn(at, typed, one.Error())
		}
		return
	}
	if err == nil {
		return
	}
	if wrong := convert(raw, typed); wrong != nil {
		*f = append(*f, *wrong)
		return
	}
	f.fail(diag.InvalidField, "", err.Error(), "")
}

// unknownIn reports a field that Kubernetes' decoder does not know: unknown field "spec.prots".
func (f *findings) unknownIn(at fields, typed any, message string) {
	_, rest, found := strings.Cut(message, `unknown field "`)
	path, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		f.fail(diag.InvalidField, "", message, "")
		return
	}
	dot := strings.LastIndexByte(path, '.')
	f.unknownField(at, path, path[dot+1:], passthrough.Fields(typed, path[:max(dot, 0)]))
}

// clearValue returns the path of a value of a Secret that is not encrypted, or "".
func clearValue(raw map[string]any) string {
	for _, field := range []string{"data", "stringData"} {
		data, _ := raw[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(data)) {
			// SOPS leaves what is empty as it is.
			if text, isText := data[key].(string); !isText && data[key] != nil ||
				text != "" && !strings.HasPrefix(text, "ENC[") {
				return field + "[" + key + "]"
			}
		}
	}
	return ""
}

// passed returns the object as it is passed through: without what only a cluster sets, in its namespace, with sorted
// keys. Flux must substitute nothing in it; but of what SOPS has encrypted nothing else may change, because SOPS
// compares a sum.
func (f *findings) passed(w rawObject, meta *metav1.ObjectMeta) []byte {
	out := maps.Clone(w.raw)
	metadata := map[string]any{"name": meta.Name}
	if meta.Namespace != "" {
		metadata["namespace"] = meta.Namespace
	}
	if len(meta.Labels) > 0 {
		metadata["labels"] = meta.Labels
	}
	annotations := maps.Clone(meta.Annotations)
	if w.raw["sops"] == nil {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[fluxKeepsText] = "disabled"
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if finalizers := lookup(w.raw, "metadata.finalizers"); finalizers != nil {
		metadata["finalizers"] = finalizers
	}
	out["metadata"] = metadata
	text, err := yaml.Marshal(out)
	if err != nil { // what was decoded from YAML can always be encoded
		f.fail(diag.InvalidObject, "", "cannot be encoded", "")
	}
	if len(text) > maxPassedBytes {
		f.fail(diag.ObjectTooLarge, "",
			fmt.Sprintf("has %d bytes, more than the %d that Kubernetes stores", len(text), maxPassedBytes), "split it")
	}
	return text
}
