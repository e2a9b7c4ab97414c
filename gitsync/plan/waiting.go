package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// maxWaiting is the most differences that are listed of an object.
const maxWaiting = 50

// waitingFields returns the fields of a held object in which the inputs differ from its stand-in. It returns nil
// if the object is not in the inputs, or appears twice.
func waitingFields(inputs *manifest.Set, h *held) []string {
	if now := inputs.Find(h.ID); now != nil {
		return waiting(plainValue(h.standIn), plainValue(now))
	}
	written := inputs.LeftOutAs(h.ID)
	if len(written) != 1 {
		return nil
	}
	// the object is invalid, so only its text can be compared
	return waiting(plainText(h.standIn), plainText(written[0]))
}

// waiting returns the paths of the fields in which two versions of an object differ. It does not return values,
// which can be secret.
func waiting(old, now any) []string {
	if old == nil || now == nil {
		return nil
	}
	var out []string
	differing("", old, now, func(path string) { out = append(out, path) })
	return out[:min(len(out), maxWaiting)]
}

// plainValue is an object's value as JSON decodes it.
func plainValue(o *manifest.Object) (out any) {
	if o.IsPassed {
		_ = yaml.Unmarshal(o.Passed(), &out) // it was encoded
		return out
	}
	data, err := json.Marshal(o.Value())
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil // a Kubernetes object holds nothing that does not encode
	}
	return out
}

// plainText returns the text of an object, decoded, or nil if it has a key twice.
func plainText(o *manifest.Object) (out any) {
	if yaml.Unmarshal([]byte(o.Text()), &out) != nil {
		return nil
	}
	return out
}

func differing(path string, a, b any, yield func(string)) {
	mapA, ok := a.(map[string]any)
	mapB, ok2 := b.(map[string]any)
	if ok && ok2 {
		keys := maps.Clone(mapA)
		maps.Copy(keys, mapB)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			differing(field(path, key), mapA[key], mapB[key], yield)
		}
		return
	}
	listA, ok := a.([]any)
	listB, ok2 := b.([]any)
	if ok && ok2 {
		for i := range max(len(listA), len(listB)) {
			differing(fmt.Sprintf("%s[%d]", path, i), at(listA, i), at(listB, i), yield)
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		yield(path)
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// field is the path of a field, as Kubernetes writes it: with [key] for keys that have a dot or a slash.
func field(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
