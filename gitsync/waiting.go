package gitsync

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

// maxWaiting is how many differences of an object are listed.
const maxWaiting = 50

// waitingFor lists the fields that wait for an object to be right again; nil when what is
// written of it cannot be told.
func (p *pass) waitingFor(h *holding) []string {
	if now := p.head.Get(h.id); now != nil {
		return waiting(plainValue(h.standIn), plainValue(now))
	}
	var written []*manifest.Object
	for _, o := range p.head.LeftOut() {
		if o.ID == h.id {
			written = append(written, o)
		}
	}
	if len(written) != 1 {
		return nil
	}
	// Its value cannot be used, so texts are compared.
	return waiting(plainText(h.standIn), plainText(written[0]))
}

// waiting lists the fields in which two versions of an object differ: their paths, and never
// what they hold.
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
	data, err := json.Marshal(o.Value)
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil // a Kubernetes object holds nothing that does not encode
	}
	return out
}

// plainText is what an object was written as, decoded; nil where a key is there twice.
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

// field is the path of a field, as Kubernetes writes it: with [key] for keys of other letters.
func field(path, key string) string {
	if strings.ContainsAny(key, "./") {
		return path + "[" + key + "]"
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
