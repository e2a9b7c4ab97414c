package integration

// Entry is what can be said of an integration. For one that the catalogue has, it overrules
// what it sets and leaves the rest.
type Entry struct {
	// Name is the key of the agent's configuration, without `_configs`.
	Name string `json:"name"`
	// OldNames are other names by which objects may ask for it, such as the exporter's.
	OldNames []string `json:"oldNames,omitempty"`
	// JobLabel is the label `job` of its targets. Default: `integrations/<name>`.
	JobLabel string `json:"jobLabel,omitempty"`
	// Singleton is true when an agent can run it only once. Default: false.
	Singleton *bool `json:"singleton,omitempty"`
	// Placement is where it belongs: `every-node`, as it is about the node it runs on; `once`, as it asks a server; or `anywhere`. Default: anywhere.
	Placement Placement `json:"placement,omitempty"`
	// Metrics is false when it has no metrics, and so neither targets nor the fields `instance`, `autoscrape` and `extra_labels` of those that have. Default: true.
	Metrics *bool `json:"metrics,omitempty"`
	// Listed is false when the agent's SD API never lists it. Default: the same as metrics.
	Listed *bool `json:"listed,omitempty"`
	// Targets is the field whose items are its targets. Default: none, it is one target.
	Targets string `json:"targets,omitempty"`
	// Unchecked is true when any configuration is taken. Default: true for an integration that is new to the catalogue and has no fields.
	Unchecked *bool `json:"unchecked,omitempty"`
	// Fields are its own fields. Those that the catalogue has are overruled, the others added.
	Fields []Field `json:"fields,omitempty"`
}

// Placement is where an integration belongs.
type Placement string

const (
	// EveryNode is for integrations about the node that they run on.
	EveryNode Placement = "every-node"
	// Once is for integrations that ask something elsewhere.
	Once Placement = "once"
	// Anywhere is for integrations of which neither can be said.
	Anywhere Placement = "anywhere"
)

// Field is one field of an integration's configuration.
type Field struct {
	// Name is the key.
	Name string `json:"name"`
	// Type is `string`, `secret` (a string that messages never quote), `regex`, `url`, `int`, `float`, `bool`, `duration` (as Go writes it; a bare number counts nanoseconds), `timeout` (the same without bare numbers), `interval` (as Prometheus writes it), `object` or `any`; or `list of` or `map of` any of them.
	Type string `json:"type,omitempty"`
	// Default is what the agent takes when the field is absent.
	Default any `json:"default,omitempty"`
	// Values are all that the agent takes. Default: any.
	Values []string `json:"values,omitempty"`
	// Known are all that have an effect; the agent ignores others. Default: any.
	Known []string `json:"known,omitempty"`
	// Required is `start` when the agent does not start without the field, `scrape` when only the integration fails. Default: it is optional.
	Required string `json:"required,omitempty"`
	// Env is an environment variable of the agent that may stand in for the required field.
	Env string `json:"env,omitempty"`
	// Open is true when the agent ignores unknown fields of the object. Default: it refuses them.
	Open bool `json:"open,omitempty"`
	// IntKeys is true when the keys of the map are numbers, which no configuration from Kubernetes can have.
	IntKeys bool `json:"intKeys,omitempty"`
	// Fields are those of the object, or of the objects in the list or map. An object without fields takes any.
	Fields []Field `json:"fields,omitempty"`
}

// merge overrules fields by others of the same name; new ones go last.
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
