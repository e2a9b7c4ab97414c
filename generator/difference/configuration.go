package difference

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/workload"
)

// Keys of configurations in their Secrets.
const (
	agentKey = "agent.yml"
	alloyKey = "config.alloy"
)

// isConfiguration reports whether a key of a Secret is that of a configuration. The other files of a folder have other keys.
func isConfiguration(key string) bool { return key == agentKey || key == alloyKey }

// configuration is a configuration on one side of a comparison, with the manifests of all of its Secrets.
type configuration struct {
	key       string
	values    func() map[string]any // nil if only the texts are known
	manifests [][]byte
}

// hasWords reports whether the configuration can be told in the agent's words: it is the agent's, or its values are known. A text of
// Alloy is told by its components.
func (c *configuration) hasWords() bool { return c == nil || c.values != nil || c.key == agentKey }

// node returns the value of the configuration.
func (c *configuration) node(agentsWords bool) *node {
	if c.values != nil && agentsWords {
		return newNode(c.key, nil, c.values())
	}
	_, _, text := data(c.manifests[0])
	if c.key == agentKey {
		return &node{text: text, name: c.key}
	}
	var all []any
	for _, m := range c.manifests {
		_, _, text := data(m)
		components, err := alloyconfig.Components(string(text))
		if err != nil {
			return newNode(c.key, nil, map[string]any{"unreadable": string(text)})
		}
		all = append(all, components...)
	}
	return newNode(c.key, nil, map[string]any{"components": all})
}

// join returns the objects of a unit. The Secrets of one configuration become a single one, with the name of the first: which file
// holds a component makes no difference.
func join(objects []*object) []*object {
	first := map[manifest.ID]*object{}
	keys := make([][2]string, len(objects))
	for i, o := range objects {
		if o.ID.Kind != "Secret" || o.IsEncrypted {
			continue
		}
		for side, v := range o.versions() {
			if keys[i][side] = v.key(); isConfiguration(keys[i][side]) {
				o.configs[side] = &configuration{keys[i][side], v.Values, [][]byte{v.Text}}
				first[o.ID] = o
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o *object) bool {
		i := slices.Index(objects, o)
		isPart := false
		for side, v := range o.versions() {
			part, isFile := strings.CutSuffix(keys[i][side], ".alloy")
			if !isFile || isConfiguration(keys[i][side]) {
				continue
			}
			id := o.ID
			id.Name = strings.TrimSuffix(id.Name, "-"+part)
			if whole := first[id]; whole != nil && whole != o {
				isPart, whole.partsChange = true, whole.partsChange || o.textsDiffer()
				if c := whole.configs[side]; c != nil {
					c.manifests = append(c.manifests, v.Text)
				}
			}
		}
		return isPart
	})
}

// NeedsValues reports whether the object is the Secret of a configuration whose text is not in the agent's words.
func (v *Version) NeedsValues() bool {
	return bytes.Contains(v.Text, []byte("\n  "+alloyKey+": ")) && v.key() == alloyKey
}

// key returns the key of the only value of a Secret, or nothing if it has none or several.
func (v *Version) key() string {
	switch {
	case v.Text == nil:
		return ""
	case v.ConfigKey != "":
		return v.ConfigKey
	}
	top := &node{text: v.Text}
	key := ""
	for _, field := range [...]string{"stringData", "data"} {
		values := top.get(field).read()
		if values == nil {
			continue
		}
		for _, f := range values.fields {
			if key != "" {
				return ""
			}
			key = f.name
		}
	}
	return key
}

// data returns the only value of a Secret, its key, and the manifest without both. It splits manifests in the form that agentry
// writes, and decodes all others. If the Secret has no value or several, config is nil.
func data(manifest []byte) (key string, head, config []byte) {
	if key, head, config = written(manifest); config != nil {
		return key, head, config
	}
	var secret map[string]any
	if config = workload.Configuration(manifest); config == nil || yaml.Unmarshal(manifest, &secret) != nil {
		return "", nil, nil
	}
	for _, field := range [...]string{"stringData", "data"} {
		values, _ := secret[field].(map[string]any)
		for k := range values {
			key = k
		}
		delete(secret, field)
	}
	head, err := yaml.Marshal(secret)
	if err != nil {
		return "", nil, nil
	}
	return key, head, config
}

// written is data for a manifest in the form that agentry writes: the value is at its end.
func written(manifest []byte) (key string, head, config []byte) {
	for _, field := range [...]string{"\nstringData:\n  ", "\ndata:\n  "} {
		head, rest, found := bytes.Cut(manifest, []byte(field))
		line, text, _ := bytes.Cut(rest, []byte("\n"))
		name, inline, isField := bytes.Cut(line, []byte(": "))
		switch {
		case !found || !isField:
			continue
		case string(inline) != "|":
			if len(text) > 0 {
				return "", nil, nil
			}
			return string(name), head, unpack(inline)
		}
		for l := range bytes.Lines(text) {
			switch indented := bytes.HasPrefix(l, []byte("    ")); {
			case indented:
				config = append(config, l[4:]...)
			case len(l) > 1:
				return "", nil, nil
			default:
				config = append(config, l...)
			}
		}
		return string(name), head, config
	}
	return "", nil, nil
}

// unpack returns a text that was compressed and encoded in base64. Of anything else it returns nil.
func unpack(text []byte) []byte {
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		return nil
	}
	return workload.Unpack(data[:n])
}
