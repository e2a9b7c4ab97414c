package secretref

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// everything adds all references in a value of an API type that has too many fields to list.
func (w *walk) everything(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.everything(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.everything(path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Slice {
			return // of texts
		}
		items := map[string]reflect.Value{}
		for key, item := range v.Seq2() {
			items[key.String()] = item
		}
		for _, key := range slices.Sorted(maps.Keys(items)) {
			w.everything(path+"["+key+"]", items[key])
		}
	case reflect.Struct:
		switch s := v.Interface().(type) {
		case corev1.SecretKeySelector:
			w.secret(path, &s)
		case corev1.ConfigMapKeySelector:
			w.configMap(path, &s)
		default:
			w.fields(path, v)
		}
	}
}

// fields adds the references in the fields of a struct.
func (w *walk) fields(path string, v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		f := v.Field(i)
		if !t.Field(i).IsExported() {
			continue
		}
		switch f.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		default:
			continue
		}
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" {
			name = "." + name
		}
		w.everything(path+name, f)
	}
}
