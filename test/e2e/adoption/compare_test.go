package adoption

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// differences are the fields in which an object is not what it was, sorted: "+field: new",
// "-field: old", "~field: old -> new". What the API server keeps for itself does not count; the
// agent's configurations are compared as values.
func differences(t *testing.T, before, after *unstructured.Unstructured) []string {
	t.Helper()
	old, now := leaves(t, before), leaves(t, after)
	var out []string
	for field, value := range now {
		was, had := old[field]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("+%s: %s", field, value))
		case was != value:
			out = append(out, fmt.Sprintf("~%s: %s -> %s", field, was, value))
		}
	}
	for field, was := range old {
		if _, has := now[field]; !has {
			out = append(out, fmt.Sprintf("-%s: %s", field, was))
		}
	}
	slices.Sort(out)
	return out
}

// leaves are the scalars of an object by their fields.
func leaves(t *testing.T, o *unstructured.Unstructured) map[string]string {
	t.Helper()
	content := maps.Clone(o.Object)
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, field := range []string{"managedFields", "resourceVersion", "creationTimestamp"} {
		delete(metadata, field)
	}
	content["metadata"] = metadata
	if o.GetKind() == "Secret" {
		content["data"] = secretData(t, o)
	}
	out := map[string]string{}
	flatten(out, "", content)
	if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found {
		text, err := json.Marshal(template)
		if err != nil {
			t.Fatal(err)
		}
		out["spec.template"] = fmt.Sprintf("%x", sha256.Sum256(text)) // Empty lists and maps count here.
	}
	return out
}

// flatten collects the scalars of a value. Nothing is in an empty list or map, as for Kubernetes.
func flatten(into map[string]string, field string, value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for key, v := range value {
			if strings.ContainsAny(key, "./") {
				flatten(into, field+"["+key+"]", v)
				continue
			}
			flatten(into, strings.TrimPrefix(field+"."+key, "."), v)
		}
	case []any:
		for i, v := range value {
			flatten(into, fmt.Sprintf("%s[%d]", field, i), v)
		}
	default:
		into[field] = fmt.Sprintf("%#v", value)
	}
}

// secretData is what a Secret holds, with an agent's configuration as values.
func secretData(t *testing.T, o *unstructured.Unstructured) map[string]any {
	t.Helper()
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for key, encoded := range data {
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if out[key] = string(text); key != "agent.yml" {
			continue
		}
		var config any
		if err := yaml.Unmarshal(unzipped(t, text), &config); err != nil {
			t.Fatal(err)
		}
		out[key] = config
	}
	return out
}

// unzipped is a text that may be gzipped, as large configurations are.
func unzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
