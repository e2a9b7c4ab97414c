package worlds

import (
	"encoding/json"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// catalogue is what the mutator knows of integrations.
type catalogue struct {
	Integrations []struct {
		Name   string
		Fields []field
	}
}

type field struct {
	Name, Type string
	Default    any
	Fields     []field
}

func (c *catalogue) load(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, c)
}

// common are the fields that all integrations with metrics have.
func common() []field {
	relabel := []field{{Name: "source_labels", Type: "list of string"}, {Name: "regex", Type: "regex"}, {Name: "target_label", Type: "string"},
		{Name: "replacement", Type: "string"}, {Name: "action", Type: "string"}, {Name: "modulus", Type: "int"}, {Name: "separator", Type: "string"}}
	return []field{{Name: "instance", Type: "string"}, {Name: "extra_labels", Type: "map of string"},
		{Name: "autoscrape", Type: "object", Fields: []field{
			{Name: "enable", Type: "bool"}, {Name: "metrics_instance", Type: "string"}, {Name: "scrape_interval", Type: "interval"},
			{Name: "scrape_timeout", Type: "interval"}, {Name: "relabel_configs", Type: "list of object", Fields: relabel},
			{Name: "metric_relabel_configs", Type: "list of object", Fields: relabel}}}}
}

// integrate makes an object another integration, or changes a field of what it is.
func (m *mutator) integrate(o *yaml.Node) string {
	spec := Child(o, "spec")
	name, config := Child(spec, "name"), Child(spec, "config")
	if name == nil || config == nil || config.Kind != yaml.MappingNode || name.Kind != yaml.ScalarNode {
		return ""
	}
	all := m.integrations.Integrations
	t := all[m.random.IntN(len(all))]
	what := ""
	if m.random.IntN(2) == 0 {
		name.Value, name.Tag, name.Style = t.Name, "!!str", 0
		config.Content = nil
		what = "spec.name = " + t.Name + "; "
	}
	for _, other := range all {
		if other.Name == name.Value {
			t = other
		}
	}
	fields := append(common(), t.Fields...)
	for range 1 + m.random.IntN(3) {
		f := fields[m.random.IntN(len(fields))]
		v := m.valueOf(f, f.Type, 0)
		drop(config, f.Name)
		config.Content = append(config.Content, scalar(f.Name), v)
		what += "spec.config." + f.Name + " = " + flat(v) + "; "
	}
	return what
}

func drop(n *yaml.Node, name string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return
		}
	}
}

// valueOf is a value for a field of a type, now and then of another type.
func (m *mutator) valueOf(f field, kind string, depth int) *yaml.Node {
	if m.random.IntN(12) == 0 || depth > 4 {
		return m.plain([]string{"int", "string", "bool"}[m.random.IntN(3)])
	}
	if item, ok := strings.CutPrefix(kind, "list of "); ok {
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for range m.random.IntN(3) {
			n.Content = append(n.Content, m.valueOf(f, item, depth+1))
		}
		return n
	}
	if item, ok := strings.CutPrefix(kind, "map of "); ok {
		n := &yaml.Node{Kind: yaml.MappingNode}
		for range m.random.IntN(3) {
			drop(n, "k")
			n.Content = append(n.Content, scalar([]string{"k", "a", "b-c", "9", "__meta_x", "job", "y", "n"}[m.random.IntN(8)]), m.valueOf(f, item, depth+1))
		}
		return unique(n)
	}
	if kind != "object" {
		return m.plain(kind)
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for range m.random.IntN(4) {
		if len(f.Fields) > 0 {
			inner := f.Fields[m.random.IntN(len(f.Fields))]
			drop(n, inner.Name)
			n.Content = append(n.Content, scalar(inner.Name), m.valueOf(inner, inner.Type, depth+1))
		}
	}
	return n
}

// unique leaves out all but the first value of a key.
func unique(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if Child(out, n.Content[i].Value) == nil {
			out.Content = append(out.Content, n.Content[i], n.Content[i+1])
		}
	}
	return out
}

func (m *mutator) plain(kind string) *yaml.Node {
	bare := func(values ...string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: m.pick(values)}
	}
	switch kind {
	case "int":
		return bare("0", "1", "-1", "12345", "9007199254740993", "65536", "99999999999", "1.5", "1e3")
	case "float":
		return bare("0", "0.5", "-1", "1e3", "1e400", "3")
	case "bool":
		return bare("true", "false", "yes", "\"true\"", "\"yes\"", "0")
	case "duration", "timeout", "interval":
		if m.random.IntN(5) == 0 {
			return bare("0", "5", "-1", "1.5", "1000000000")
		}
		return scalar(m.pick(durations))
	case "regex":
		return scalar(m.pick(regexes))
	case "url":
		return scalar(m.pick(urls))
	}
	if m.random.IntN(3) == 0 {
		return scalar(m.pick(urls))
	}
	return scalar(m.pick(texts))
}
