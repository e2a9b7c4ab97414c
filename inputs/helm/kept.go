package helm

import (
	"slices"

	"sigs.k8s.io/yaml"
)

// Kept are the documents of a chart that are read, apart from those that are left out.
type Kept struct {
	Documents []Document
	// Random would be another one each time: nothing can be rendered from it.
	Random []Document
	// Lookup are those of Documents that may be another one in a cluster, where lookup finds something.
	Lookup []Document
}

// Keep takes the kinds that are read out of what a chart gives, and puts objects without a namespace into one, if it is not
// empty.
func Keep(docs []Document, namespace string, isRead func(apiVersion, kind string) bool) Kept {
	var out Kept
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
			if d.Lookup {
				out.Lookup = append(out.Lookup, d)
			}
		}
	}
	return out
}

// inNamespace gives an object a namespace if it has none, as Helm does when it applies it.
func inNamespace(text, namespace string) string {
	var object map[string]any
	if yaml.Unmarshal([]byte(text), &object) != nil {
		return text // what is wrong with it is said when it is read
	}
	metadata, _ := object["metadata"].(map[string]any)
	if kind, _ := object["kind"].(string); metadata == nil || metadata["namespace"] != nil || slices.Contains([]string{"Namespace", "List"}, kind) {
		return text
	}
	metadata["namespace"] = namespace
	out, err := yaml.Marshal(object)
	if err != nil {
		return text
	}
	return string(out)
}
