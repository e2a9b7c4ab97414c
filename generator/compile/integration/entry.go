package integration

// Entry is a user's entry of the catalogue. For an integration that the catalogue has, it changes only what it sets.
type Entry struct {
	// Name is the key of the agent's configuration, without `_configs`.
	Name string `json:"name"`
	// OldNames are other names that objects can use for it, such as the exporter's.
	OldNames []string `json:"oldNames,omitempty"`
	// JobLabel is the label `job` of its targets. Default: `integrations/<name>`.
	JobLabel string `json:"jobLabel,omitempty"`
	// Singleton is true if an agent can run it only once. Default: false.
	Singleton *bool `json:"singleton,omitempty"`
	// Placement is where it should run: `every-node` if it is about the node it runs on, `once` if it queries a
	// server, or `anywhere`. Default: anywhere.
	Placement Placement `json:"placement,omitempty"`
	// Metrics is false if it has no metrics, and therefore neither targets nor the fields `instance`,
	// `autoscrape` and `extra_labels`. Default: true.
	Metrics *bool `json:"metrics,omitempty"`
	// Listed is false if the agent's SD API never lists it. Default: the same as metrics.
	Listed *bool `json:"listed,omitempty"`
	// Targets is the field with its targets, one for each item. Default: none, the integration is one target.
	Targets string `json:"targets,omitempty"`
	// Unchecked is true if every configuration is accepted. Default: true for an integration that is new to the
	// catalogue and has no fields.
	Unchecked *bool `json:"unchecked,omitempty"`
	// Fields are its own fields. They replace fields of the same name in the catalogue; others are added.
	Fields []Field `json:"fields,omitempty"`
}

// Placement says where an integration should run.
type Placement string

const (
	// EveryNode is for integrations about the node that they run on.
	EveryNode Placement = "every-node"
	// Once is for integrations that query something elsewhere.
	Once Placement = "once"
	// Anywhere is for integrations that fit neither of the others.
	Anywhere Placement = "anywhere"
)

// Field is one field of an integration's configuration.
type Field struct {
	// Name is the key.
	Name string `json:"name"`
	// Type is `string`, `secret` (a string that messages never quote), `regex`, `url`, `int`, `float`, `bool`,
	// `duration` (as Go writes it; a bare number counts nanoseconds), `timeout` (the same without bare numbers),
	// `interval` (as Prometheus writes it), `object` or `any`; or `list of` or `map of` any of them.
	Type string `json:"type,omitempty"`
	// Default is the agent's value if the field is absent.
	// +kubebuilder:validation:Schemaless
	Default any `json:"default,omitempty"`
	// Values are all values that the agent accepts. Default: any.
	Values []string `json:"values,omitempty"`
	// Known are all values that have an effect; the agent ignores others. Default: any.
	Known []string `json:"known,omitempty"`
	// Required is `start` if the agent does not start without the field, and `scrape` if only the integration
	// fails. Default: it is optional.
	Required string `json:"required,omitempty"`
	// Env is an environment variable of the agent that can replace the required field.
	Env string `json:"env,omitempty"`
	// Open is true if the agent ignores unknown fields of the object. Default: it refuses them.
	Open bool `json:"open,omitempty"`
	// IntKeys is true if the keys of the map are numbers, which no configuration from Kubernetes can have.
	IntKeys bool `json:"intKeys,omitempty"`
	// Fields are the fields of the object, or of the objects in the list or map. An object without fields accepts any.
	// +kubebuilder:validation:Schemaless
	Fields []Field `json:"fields,omitempty"`
}

// merge replaces fields that have the same name in by, and appends the other fields of by.
func merge(fields, by []Field) []Field {
	index := make(map[string]int, len(fields))
	out := make([]Field, len(fields), len(fields)+len(by))
	copy(out, fields)
	for i := range out {
		index[out[i].Name] = i
	}
	for _, f := range by {
		i, ok := index[f.Name]
		if !ok {
			index[f.Name] = len(out)
			out = append(out, f)
			continue
		}
		out[i] = out[i].overruled(f)
	}
	return out
}

func (f Field) overruled(by Field) Field {
	if by.Type != "" {
		f.Type = by.Type
	}
	if by.Default != nil {
		f.Default = by.Default
	}
	if by.Values != nil {
		f.Values = by.Values
	}
	if by.Known != nil {
		f.Known = by.Known
	}
	if by.Required != "" {
		f.Required = by.Required
	}
	if by.Env != "" {
		f.Env = by.Env
	}
	f.Open = f.Open || by.Open
	f.IntKeys = f.IntKeys || by.IntKeys
	f.Fields = merge(f.Fields, by.Fields)
	return f
}
