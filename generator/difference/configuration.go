package difference

import (
	"bytes"
	"encoding/base64"
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

// isConfiguration reports whether a key of a Secret is the key of a configuration. The other files of a folder have
// other keys.
func isConfiguration(key string) bool { return key == agentKey || key == alloyKey }

// configuration is a configuration on one side of a comparison.
type configuration struct {
	key    string
	values func() map[string]any // nil if only the texts are known
	head   []byte                // the manifest of its first Secret without data, if only the texts are known
	// manifests are the manifests of its Secrets, each with one of its files.
	manifests [][]byte
}

// hasAgentTerms reports whether the configuration can be described in the agent's terms: it is the agent's, or its
// values are known. A configuration of Alloy that is known only as text is described by its components.
func (c *configuration) hasAgentTerms() bool { return c == nil || c.values != nil || c.key == agentKey }

// node returns the value of the configuration.
func (c *configuration) node(agentTerms bool) *node {
	if c.values != nil && agentTerms {
		return &node{name: c.key, values: c.values}
	}
	var all []any
	for _, m := range c.manifests {
		_, _, text := data(m)
		if c.key == agentKey {
			return &node{text: text, name: c.key}
		}
		list, err := alloyconfig.Components(string(text))
		if err != nil {
			return newNode(c.key, nil, map[string]any{"unreadable": string(text)})
		}
		all = append(all, list...)
	}
	return newNode(c.key, nil, map[string]any{components: all})
}

// join finds the configurations of a unit, and returns its objects. Several Secrets of one configuration become one,
// with the name of the first: it makes no difference which file has a component.
func join(objects []*object) (out []*object) {
	type file struct {
		side int
		part string
	}
	first, files := map[manifest.ID]*object{}, map[*object][]file{}
	for _, o := range objects {
		if o.ID.Kind != "Secret" || o.IsEncrypted {
			continue
		}
		for side, v := range o.versions() {
			key, head := v.ConfigKey, []byte(nil)
			if v.Value == nil && mayHoldFile(v.Text) {
				key, head, _ = data(v.Text)
			}
			part, isFile := strings.CutSuffix(key, ".alloy")
			switch {
			case isConfiguration(key):
				o.configs[side] = &configuration{key, v.Values, head, [][]byte{v.Text}}
				first[o.ID] = o
			case isFile:
				files[o] = append(files[o], file{side, part})
			}
		}
	}
	for _, o := range objects {
		isPart := false
		for _, f := range files[o] {
			id := o.ID
			id.Name = strings.TrimSuffix(id.Name, "-"+f.part)
			whole := first[id]
			if whole == nil || whole == o {
				continue
			}
			isPart, whole.partsChange = true, whole.partsChange || o.textsDiffer()
			if c := whole.configs[f.side]; c != nil {
				c.manifests = append(c.manifests, o.versions()[f.side].Text)
			}
		}
		if !isPart {
			out = append(out, o)
		}
	}
	return out
}

// mayHoldFile reports whether a manifest may be a Secret with a file of a configuration. Other manifests need not be
// read.
func mayHoldFile(manifest []byte) bool {
	return bytes.Contains(manifest, []byte(agentKey+": ")) || bytes.Contains(manifest, []byte(".alloy: "))
}

// NeedsValues reports whether a manifest may be the Secret of a configuration whose text is not in the agent's terms.
func NeedsValues(manifest []byte) bool { return bytes.Contains(manifest, []byte("\n  "+alloyKey+": ")) }

// data returns the only value of a Secret, its key, and the manifest without both. It splits manifests in agentry's
// format, and decodes all others. If the Secret has no value or several, config is nil.
func data(manifest []byte) (key string, head, config []byte) {
	if key, head, config = splitData(manifest); config != nil {
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

// splitData is data for a manifest in agentry's format: the value is at its end.
func splitData(manifest []byte) (key string, head, config []byte) {
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

// unpack returns a text that was compressed and encoded in base64, or nil for any other text.
func unpack(text []byte) []byte {
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	if err != nil {
		return nil
	}
	return workload.Unpack(data[:n])
}
