package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
	"github.com/agentry-dev/agentry/generator/manifest/internal/schema"
)

// readCustom reads a custom resource with its CRD, and adds to the findings.
func readCustom(w rawObject, value typed, found findings) (typed, findings) {
	r := crdReader{rawObject: w, findings: found}
	value = r.read(value)
	return value, r.findings
}

// crdReader reads one custom resource.
type crdReader struct {
	rawObject
	findings
}

// read returns the value, which must not be used if there is an error. It fills the given empty value, or a new
// one if decoding stopped halfway.
func (r *crdReader) read(value typed) typed {
	delete(r.raw, "metadata") // readMetadata has read it
	if _, found := r.raw["sops"].(map[string]any); found {
		delete(r.raw, "sops") // SOPS adds it, also where it encrypts nothing
		r.refuseEncrypted("", r.raw)
	}
	if r.kind == v1alpha1.MetricsIntegrationKind {
		r.checkIntegration()
	}
	r.schema = schema.Of(r.kind)
	if r.schema.Accept(r.raw) && decode(r.raw, value) == nil {
		return value
	}
	value = newValue(r.apiVersion, r.kind)
	r.check(func(err *field.Error) bool {
		return r.opts.Compatibility == Operator && err.Type != field.ErrorTypeRequired // null counts as absent
	})
	if !r.onlyUnknownFields() {
		return value
	}
	if wrong := convert(r.raw, value); wrong != nil {
		r.findings = append(r.findings, *wrong)
	}
	return value
}

// check compares the object with its schema. An error about an empty string is none if mayBeEmpty returns true for it.
// fits is false if there are unknown fields or values of the wrong type.
func (r *crdReader) check(mayBeEmpty func(*field.Error) bool) (fits bool) {
	unknown, errs := r.schema.Check(r.raw)
	mistyped := mistypedPaths(errs)
	r.unknownFields(unknown, mistyped)
	for _, err := range errs {
		if repeatsMismatch(err, mistyped) || lookup(r.raw, err.Field) == "" && mayBeEmpty(err) {
			continue
		}
		if r.invalid(err); len(r.findings) > 2*MaxFindings {
			break // more than are reported
		}
	}
	return len(unknown)+len(mistyped) == 0
}

// refuseEncrypted reports the first value that SOPS has encrypted: the object cannot be read without it.
func (r *crdReader) refuseEncrypted(path string, value any) bool {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(value, "ENC[") {
			r.fail(diag.EncryptedSecret, path,
				"is encrypted by SOPS, which agentry decrypts in Secrets and ConfigMaps only",
				"encrypt Secrets only, as with encrypted_regex: ^(data|stringData)$")
			return true
		}
	case []any:
		for i, item := range value {
			if r.refuseEncrypted(fmt.Sprintf("%s[%d]", path, i), item) {
				return true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if r.refuseEncrypted(strings.TrimPrefix(path+"."+key, "."), value[key]) {
				return true
			}
		}
	}
	return false
}

// convert decodes a Go value through JSON. This finds errors that a schema cannot express, such as a number
// that is too large for its field.
func convert(raw map[string]any, value any) *diag.Diagnostic {
	data, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(data, value)
	}
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && bad.Field != "" {
		return new(mistyped(bad))
	}
	if err != nil {
		return new(diag.InvalidField.At("", "%s", err))
	}
	return nil
}

// mistyped returns the finding about a value that its field cannot hold. The path has no indices.
func mistyped(bad *json.UnmarshalTypeError) diag.Diagnostic {
	kind, _, _ := strings.Cut(bad.Value, " ") // a number that is too large is written behind it
	is := map[string]string{"bool": "a boolean", "number": "a number", "string": "a string", "array": "a list",
		"object": "a mapping"}[kind]
	want, hint := "", ""
	switch bad.Type.Kind() {
	case reflect.String:
		if want = "a string"; kind == "number" || kind == "bool" {
			hint = "quote it"
		}
	case reflect.Bool:
		want = "a boolean"
	case reflect.Int32, reflect.Int64, reflect.Int:
		if want = "a whole number"; kind == "number" {
			return diag.InvalidField.At(bad.Field, "must be a whole number of %d bits", bad.Type.Bits())
		}
	case reflect.Slice:
		want, hint = "a list", diag.WriteList
	case reflect.Map, reflect.Struct:
		want = "a mapping"
	default:
		return diag.InvalidField.At(bad.Field, "cannot be %s", is)
	}
	return diag.InvalidField.At(bad.Field, "must be %s, is %s", want, is).WithHint(hint)
}

// invalid reports an error of Kubernetes' validation, once for each field.
func (r *crdReader) invalid(err *field.Error) {
	path, message := err.Field, strings.TrimPrefix(err.Detail, err.Field+" in body ")
	if text, at, found := strings.Cut(message, " in "); found && path == "<nil>" && lookup(r.raw, at) != nil {
		path, message = at, outOfRange(strings.TrimPrefix(text, "Checked value "))
	}
	if path == "<nil>" {
		path = ""
	}
	if slices.ContainsFunc(r.findings, func(d diag.Diagnostic) bool {
		return d.Path == path &&
			d.Code == diag.InvalidField
	}) {
		return
	}
	hint := ""
	switch value, _ := err.BadValue.(string); err.Type {
	case field.ErrorTypeRequired:
		if r.misspelt(path) {
			return
		}
		message, hint = "is required", ifPatch(r.at.file, "")
	case field.ErrorTypeNotSupported:
		message = "is not supported"
		if text := fmt.Sprint(err.BadValue); diag.MayQuote(path, text) {
			message = fmt.Sprintf("%q is not supported", text)
		}
		hint = oneOf(fmt.Sprint(err.BadValue), quoted(err.Detail))
	case field.ErrorTypeDuplicate:
		message, hint = "another entry has the same "+key(path, err.BadValue), "leave one of them out"
	case field.ErrorTypeTypeInvalid:
		message, hint = r.mismatch(path, message)
	case field.ErrorTypeInvalid:
		message = strings.Replace(message, "should be ", "must be ", 1)
		if f := formOf(message); f.must != "" {
			message, hint = f.must, f.hint
		}
		if value != "" && len(value) <= maxQuoted && !strings.Contains(value, "://") && diag.MayQuote(path, value) {
			message = fmt.Sprintf("%q %s", value, message)
		}
	}
	r.fail(diag.InvalidField, path, message, hint)
}

// key returns the key of an entry of a list: some of its fields, or the whole entry (x-kubernetes-list-type map
// and set).
func key(path string, value any) string {
	fields, ok := value.(map[string]any)
	switch {
	case !ok && !diag.MayQuote(path, fmt.Sprint(value)):
		return "value"
	case !ok:
		return fmt.Sprintf("value, %#v", value)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, fmt.Sprintf("%s, %#v", name, fields[name]))
	}
	return strings.Join(parts, ", and ")
}

// oneOf returns the hint for a value that is none of those that are supported.
func oneOf(value string, supported []string) string {
	if hint := diag.DidYouMean(value, supported); hint != "" {
		return hint
	}
	var names []string // some are supported in two spellings: replace and Replace
	for _, s := range supported {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, s) }) {
			names = append(names, s)
		}
	}
	return "use one of " + strings.Join(names, ", ")
}

// quoted returns the double-quoted parts of a text.
func quoted(text string) []string {
	var parts []string
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			parts = append(parts, part)
		}
	}
	return parts
}

// checkIntegration checks the fields of a MetricsIntegration that can have one of two types, which a structural
// schema cannot express.
func (r *crdReader) checkIntegration() {
	r.checkConfig()
	for _, path := range []string{"spec.secrets", "spec.configMaps"} {
		items, _ := lookup(r.raw, path).([]any)
		for i, item := range items {
			r.checkKeyOrName(fmt.Sprintf("%s[%d]", path, i), item)
		}
	}
}

// checkConfig checks that the configuration is an object, or a string that contains one.
func (r *crdReader) checkConfig() {
	const path = "spec.config"
	inside := func(line, column int, message, hint string) {
		r.fail(diag.InvalidField, path, message, hint)
		r.findings[len(r.findings)-1].Line, r.findings[len(r.findings)-1].Column = line, column
	}
	switch config := lookup(r.raw, path).(type) {
	case nil, map[string]any:
	case string:
		value, _, err := yamlvalue.Decode(config)
		if bad := (*yamlvalue.Error)(nil); errors.As(err, &bad) {
			inside(max(bad.Line, 1), max(bad.Column, 1), bad.Message, bad.Hint)
			return
		}
		if _, ok := value.(map[string]any); !ok && value != nil {
			inside(1, 1, "must hold a YAML mapping, is "+typeName(value), "")
		}
	default:
		r.fail(diag.InvalidField, path, "must be a mapping, or a string that holds one as YAML, is "+typeName(config),
			"")
	}
}

// checkKeyOrName checks a reference to a whole Secret or ConfigMap, or to one of its keys.
func (r *crdReader) checkKeyOrName(path string, item any) {
	known := []string{"key", "name", "optional"}
	object, _ := item.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			r.unknownField(r.at, path+"."+name, name, known)
		}
	}
	data, err := json.Marshal(item)
	if err == nil {
		err = json.Unmarshal(data, &v1alpha1.KeyOrName{})
	}
	if err != nil && !r.misspelt(path+".name") && !r.misspelt(path+".key") {
		r.fail(diag.InvalidField, path, "must be a name, or a mapping with name and key", "write "+keyForm)
	}
}
