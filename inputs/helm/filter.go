package helm

import (
	"slices"

	"sigs.k8s.io/yaml"
)

// Filtered has the documents of a chart whose kinds agentry reads.
type Filtered struct {
	Documents []Document
	// Random are the documents that differ each time the chart is rendered. They are not among Documents.
	Random []Document
}

// Filter keeps the documents of a chart whose kinds are read. Unless namespace is empty, it sets the namespace of
// objects without one.
func Filter(docs []Document, namespace string, isRead func(apiVersion, kind string) bool) Filtered {
	var out Filtered
	for _, d := range docs {
		switch {
		case !isRead(d.APIVersion, d.Kind):
		case d.Random:
			out.Random = append(out.Random, d)
		default:
			if namespace != "" {
				d.Text = inNamespace(d.Text, namespace)
			}
			out.Documents = append(out.Documents, d)
		}
	}
	return out
}

// inNamespace sets the namespace of an object if it has none, as Helm does when it installs it.
func inNamespace(text, namespace string) string {
	var object map[string]any
	if yaml.Unmarshal([]byte(text), &object) != nil {
		return text // parsing reports the error
	}
	metadata, _ := object["metadata"].(map[string]any)
	if kind, _ := object["kind"].(string); metadata == nil || metadata["namespace"] != nil ||
		slices.Contains([]string{"Namespace", "List"}, kind) {
		return text
	}
	metadata["namespace"] = namespace
	out, err := yaml.Marshal(object)
	if err != nil {
		return text
	}
	return string(out)
}
