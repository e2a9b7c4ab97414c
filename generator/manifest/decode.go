package manifest

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// decode sets an empty value, to which it has a pointer, to what an object says. It does what
// [runtime.DefaultUnstructuredConverter] does, which looks for every field that a type has; this looks only at the
// fields that the object has. What it does not know it leaves to the converter.
func decode(raw map[string]any, value any) error {
	into := reflect.ValueOf(value).Elem()
	if decoderOf(into.Type())(raw, into) {
		return nil
	}
	into.SetZero()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(raw, value)
}

// decoder sets a variable that is zero to a value of JSON, and reports whether it knows how.
type decoder func(value any, into reflect.Value) bool

// decoders has the decoder of each [reflect.Type] that was needed.
var decoders sync.Map

func decoderOf(t reflect.Type) decoder {
	if known, found := decoders.Load(t); found {
		return known.(decoder)
	}
	made, _ := decoders.LoadOrStore(t, newDecoder(t))
	return made.(decoder)
}

// below returns the decoder of a part of a type. It makes it when it is needed: most parts are not, and a type can
// contain itself.
func below(t reflect.Type) func() decoder {
	return sync.OnceValue(func() decoder { return decoderOf(t) })
}

func newDecoder(t reflect.Type) decoder {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return decodeItself
	}
	switch t.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return decodeUint
	case reflect.Pointer:
		return pointerDecoder(t)
	case reflect.Slice:
		return sliceDecoder(t)
	case reflect.Map:
		return mapDecoder(t)
	case reflect.Struct:
		return structDecoder(t)
	}
	return decodeNothing
}

func decodeNothing(any, reflect.Value) bool { return false }

// decodeItself decodes a type that reads its own JSON.
func decodeItself(value any, into reflect.Value) bool {
	data, err := json.Marshal(value)
	return err == nil && into.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data) == nil
}

func decodeString(value any, into reflect.Value) bool {
	s, ok := value.(string)
	if ok {
		into.SetString(s)
	}
	return ok
}

func decodeBool(value any, into reflect.Value) bool {
	b, ok := value.(bool)
	if ok {
		into.SetBool(b)
	}
	return ok
}

func decodeInt(value any, into reflect.Value) bool {
	n, ok := value.(int64)
	if ok = ok && !into.OverflowInt(n); ok {
		into.SetInt(n)
	}
	return ok
}

func decodeUint(value any, into reflect.Value) bool {
	n, ok := value.(int64)
	if ok = ok && n >= 0 && !into.OverflowUint(uint64(n)); ok {
		into.SetUint(uint64(n))
	}
	return ok
}

func pointerDecoder(t reflect.Type) decoder {
	element := below(t.Elem())
	return func(value any, into reflect.Value) bool {
		if value == nil {
			return false
		}
		into.Set(reflect.New(t.Elem()))
		return element()(value, into.Elem())
	}
}

func sliceDecoder(t reflect.Type) decoder {
	element := below(t.Elem())
	return func(value any, into reflect.Value) bool {
		items, ok := value.([]any)
		if !ok {
			return false
		}
		into.Set(reflect.MakeSlice(t, len(items), len(items)))
		decode := element()
		for i, item := range items {
			if !decode(item, into.Index(i)) {
				return false
			}
		}
		return true
	}
}

func mapDecoder(t reflect.Type) decoder {
	if t.Key().Kind() != reflect.String {
		return decodeNothing
	}
	element := below(t.Elem())
	return func(value any, into reflect.Value) bool {
		items, ok := value.(map[string]any)
		if !ok {
			return false
		}
		into.Set(reflect.MakeMapWithSize(t, len(items)))
		decode := element()
		key, item := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for k, v := range items {
			item.SetZero()
			if !decode(v, item) {
				return false
			}
			key.SetString(k)
			into.SetMapIndex(key, item)
		}
		return true
	}
}

// structField is a field of a struct, or of one that is embedded in it.
type structField struct {
	index   []int
	decoder func() decoder
}

func structDecoder(t reflect.Type) decoder {
	fields := map[string][]structField{}
	if !addFields(fields, t, nil) {
		return decodeNothing
	}
	return func(value any, into reflect.Value) bool {
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for name, item := range object {
			for _, f := range fields[name] {
				if !f.decoder()(item, into.FieldByIndex(f.index)) {
					return false
				}
			}
		}
		return true
	}
}

// addFields adds the fields of a struct by their names in JSON, of which a struct and one that it embeds can have the
// same: the converter sets both. It returns false if the struct embeds what is no struct.
func addFields(fields map[string][]structField, t reflect.Type, above []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(above[:len(above):len(above)], i)
		switch {
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !addFields(fields, f.Type, index) {
				return false
			}
			continue
		case name == "":
			name = f.Name
		}
		if !f.IsExported() {
			return false
		}
		fields[name] = append(fields[name], structField{index, below(f.Type)})
	}
	return true
}
