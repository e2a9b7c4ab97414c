package roots

import (
	"maps"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// withMetadata sets the root's labels and annotations in all documents.
func (r Root) withMetadata(docs []manifest.Built) ([]manifest.Built, error) {
	out := make([]manifest.Built, len(docs))
	for i, doc := range docs {
		var object map[string]any
		if err := yaml.Unmarshal(doc.Text, &object); err != nil {
			return nil, err
		}
		metadata, ok := object["metadata"].(map[string]any)
		if !ok {
			metadata = map[string]any{}
			object["metadata"] = metadata
		}
		for field, set := range map[string]map[string]string{"labels": r.Labels, "annotations": r.Annotations} {
			values, _ := metadata[field].(map[string]any)
			values = maps.Clone(values)
			for key, value := range set {
				if values == nil {
					values = map[string]any{}
				}
				values[key] = value
			}
			if len(values) > 0 {
				metadata[field] = values
			}
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		out[i] = doc
		out[i].Text = text
	}
	return out, nil
}
