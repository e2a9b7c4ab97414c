package stage

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/stagehint"
)

// decoder sets Go values from decoded YAML. Like the operator's JSON decoding, it ignores the letter case of
// keys. Unlike it, it refuses unknown keys. Errors have the path of what it refuses.
type decoder struct {
	*builder
	failed bool
}

// into decodes a value into the variable that target points to.
func (d *decoder) into(path string, value, target any) {
	d.set(path, value, reflect.ValueOf(target).Elem())
}

func (d *decoder) set(path string, value any, to reflect.Value) {
	if value == nil { // null counts as absent
		return
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		d.set(path, value, to.Elem())
	case reflect.Struct:
		if fields, ok := value.(map[string]any); ok {
			d.setStruct(path, fields, to)
			return
		}
		d.mismatch(path, "a mapping", value)
	case reflect.Map:
		if entries, ok := value.(map[string]any); ok {
			d.setMap(path, entries, to)
			return
		}
		d.mismatch(path, "a mapping", value)
	case reflect.Slice:
		if items, ok := value.([]any); ok {
			d.setSlice(path, items, to)
			return
		}
		d.mismatch(path, "a list", value)
	default:
		d.setScalar(path, value, to)
	}
}

func (d *decoder) setSlice(path string, items []any, to reflect.Value) {
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		d.set(fmt.Sprintf("%s[%d]", path, i), item, to.Index(i))
	}
}

func (d *decoder) setMap(path string, entries map[string]any, to reflect.Value) {
	to.Set(reflect.MakeMapWithSize(to.Type(), len(entries)))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		element := reflect.New(to.Type().Elem()).Elem()
		d.set(KeyPath(path, key), entries[key], element)
		to.SetMapIndex(reflect.ValueOf(key), element)
	}
}

func (d *decoder) setStruct(path string, fields map[string]any, to reflect.Value) {
	names := fieldNames(to.Type())
	spelled := map[int]string{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		at := KeyPath(path, key)
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, key) })
		if i < 0 {
			hint := suggestion(key, names)
			if to.Type() == reflect.TypeFor[v1alpha1.PipelineStageSpec]() {
				hint = stagehint.Unknown(key, names)
			}
			d.refuse(diag.UnknownStageField, at, hint, "unknown key")
			continue
		}
		if other, ok := spelled[i]; ok {
			d.refuse(diag.UnknownStageField, at, "", "is %s once more", other)
			continue
		}
		spelled[i] = key
		if key != names[i] {
			d.report(diag.Warning, diag.UnknownStageField, at, "write "+names[i], "is read as %s", names[i])
		}
		d.set(at, fields[key], to.Field(i))
	}
}

// fieldNames returns the JSON names of a struct's fields, by index.
func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// suggestion returns a hint with the likely key. The user may have written the agent's spelling.
func suggestion(key string, names []string) string {
	plain := strings.ReplaceAll(key, "_", "")
	for _, n := range names {
		if strings.EqualFold(plain, n) {
			return "did you mean " + n + "?"
		}
	}
	return diag.DidYouMean(key, names)
}

func (d *decoder) setScalar(path string, value any, to reflect.Value) {
	switch to.Kind() {
	case reflect.String:
		if s, ok := value.(string); ok {
			to.SetString(s)
			return
		}
		d.mismatch(path, "a string", value)
	case reflect.Bool:
		if v, ok := value.(bool); ok {
			to.SetBool(v)
			return
		}
		d.mismatch(path, "true or false", value)
	default:
		if n, ok := integer(value); ok {
			to.SetInt(n)
			return
		}
		d.mismatch(path, "a whole number", value)
	}
}

// integer returns the value of a number without a fraction, however it is written.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		const exact = 1 << 53
		if v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v), true
		}
	}
	return 0, false
}

func (d *decoder) mismatch(path, want string, value any) {
	hint := ""
	if want == "a string" {
		hint = "put it into quotes"
	}
	is := typeName(value)
	if number, isFloat := value.(float64); isFloat && want == "a whole number" {
		is = "a number with a fraction"
		if number == math.Trunc(number) {
			is = "a number that is too large"
		}
	}
	d.refuse(diag.InvalidStage, path, hint, "must be %s, is %s", want, is)
}

func (d *decoder) refuse(code diag.Code, path, hint, format string, args ...any) {
	d.failed = true
	d.report(diag.Error, code, path, hint, format, args...)
}

func typeName(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

// KeyPath returns the path of a key.
func KeyPath(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	switch {
	case !plain:
		return path + "[" + key + "]"
	case strings.HasSuffix(path, ">"):
		return path + key
	}
	return path + "." + key
}
