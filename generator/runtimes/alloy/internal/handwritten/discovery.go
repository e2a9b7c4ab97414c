package handwritten

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// discoveries returns the service discoveries of a job.
func (m mapping) discoveries() (out []model.Discovery) {
	for key, list := range m.pairs {
		mechanism, is := strings.CutSuffix(key, "_sd_configs")
		switch {
		case key == "static_configs":
			mechanism = "static"
		case !is:
			continue
		case catalogue.Get("discovery."+mechanism) == nil:
			m.wrong(list, "Alloy has no service discovery for "+key)
			continue
		}
		for i, n := range m.items(key) {
			out = append(out, mapping{m.reader, n, key + "[" + strconv.Itoa(i) + "]."}.discovery(mechanism))
		}
	}
	return out
}

// What service discoveries have besides texts.
var (
	numbers = []string{"port", "version"}
	flags   = []string{"allow_stale", "all_tenants", "include_parameters", "own_namespace", "node",
		"match_first_network"}
	secrets = []string{"token", "password", "secret_key", "client_secret", "application_credential_secret",
		"application_secret", "consumer_key", "auth_token"}
)

func (m mapping) discovery(mechanism string) model.Discovery {
	d := model.Discovery{Mechanism: mechanism, Line: m.node.Line, HTTPClient: m.client()}
	for key, n := range m.pairs {
		if mechanism == "static" || !isClientField(key) {
			d.Settings.Set(key, m.setting(key, n))
		}
	}
	if mechanism == "kubernetes" {
		m.known("role")
	}
	return d
}

// setting returns the value of a setting that only a service discovery has.
func (m mapping) setting(key string, n *yaml.Node) model.Value {
	switch {
	case n.Kind == yaml.MappingNode && (key == "labels" || key == "node_meta"): // with any names
		out := model.Map{}
		for name, v := range (mapping{m.reader, n, m.path + key + "."}).pairs {
			out.Set(name, model.String(m.literal(v)))
		}
		return out
	case n.Kind == yaml.MappingNode:
		out := model.Map{}
		inner := mapping{m.reader, n, m.path + key + "."}
		for name, v := range inner.pairs {
			out.Set(name, inner.setting(name, v))
		}
		return out
	case n.Kind == yaml.SequenceNode:
		out := model.List{}
		for _, item := range n.Content {
			out = append(out, m.setting("", item))
		}
		return out
	case slices.Contains(numbers, key) && m.node.Kind == yaml.MappingNode:
		if v := m.number(key); v != nil {
			return model.Number(strconv.FormatInt(*v, 10))
		}
	case slices.Contains(flags, key):
		if v := m.flag(key); v != nil {
			return model.Bool(*v)
		}
	case slices.Contains(secrets, key):
		return model.Secret{Value: m.literal(n), Set: true}
	}
	return model.String(m.literal(n))
}
