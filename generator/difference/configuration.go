package difference

import (
	"bytes"
	"encoding/base64"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/workload"
)

// language is the format of the configuration of a program, as its runtime prints it. All have the shape of the agent's, so that
// configurations of two programs can be compared.
type language struct {
	// key is the key of the configuration in its Secret.
	key string
	// read returns the value of a configuration.
	read func(text []byte) *node
}

// languages returns all languages, in the order in which they are tried.
func languages() []language {
	return []language{
		{key: agentKey, read: func(text []byte) *node { return &node{text: text} }},
		{key: alloyKey, read: func(text []byte) *node { return newNode("", nil, alloyconfig.Config(string(text))) }},
	}
}

const (
	agentKey = "agent.yml"
	alloyKey = "config.alloy"
)

// languageOf returns the language of the configurations with a key in their Secrets, or nil.
func languageOf(key string) *language {
	for _, l := range languages() {
		if l.key == key {
			return &l
		}
	}
	return nil
}

// languageIn returns the language of the configuration in a Secret, or nil.
func languageIn(manifest []byte) *language {
	for _, l := range languages() {
		if bytes.Contains(manifest, []byte("\n  "+l.key+": ")) {
			return &l
		}
	}
	return nil
}

// configuration returns the only value of a Secret, its key, and the manifest without both. It splits manifests in the form that
// agentry writes, and decodes all others. If the Secret has no value or several, config is nil.
func configuration(manifest []byte) (key string, head, config []byte) {
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

// written is configuration for a manifest in the form that agentry writes: the value is at its end.
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
