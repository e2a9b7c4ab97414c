package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/yamlvalue"
)

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
	switch config := lookup(r.raw, path).(type) {
	case nil, map[string]any:
	case string:
		value, _, err := yamlvalue.Decode(config)
		if bad := (*yamlvalue.Error)(nil); errors.As(err, &bad) {
			r.failInside(path, max(bad.Line, 1), max(bad.Column, 1), bad.Message, bad.Hint)
			return
		}
		if _, ok := value.(map[string]any); !ok && value != nil {
			r.failInside(path, 1, 1, "must hold a YAML mapping, is "+typeName(value), "")
		}
	default:
		r.fail(diag.InvalidField, path, "must be a mapping, or a string that holds one as YAML, is "+typeName(config), "")
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
