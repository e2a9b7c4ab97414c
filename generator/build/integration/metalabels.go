package integration

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Meta is what a MetricsIntegration tells its scrapers of itself.
type Meta struct {
	// Namespace and Name are the object's.
	Namespace, Name string
	// Type is where it runs: daemonset, singleton or normal.
	Type string
	// Labels are the object's.
	Labels map[string]string
}

// Mark makes a checked MetricsIntegration what RFC 1 asks for: its instance key is the
// object's, it never scrapes itself, and its labels say where it comes from. It returns
// what stands against that; the findings of the check are not repeated.
func (c *Checked) Mark(m Meta) []diag.Finding {
	c.Instance, c.InstanceKnown = m.Namespace+"/"+m.Name, true
	c.same = "=" + c.Instance
	labels, findings := m.labels()
	if own, ok := c.Config.Get("extra_labels").(model.Map); ok {
		for _, p := range own {
			if !strings.HasPrefix(p.Key, ownLabels) {
				labels.Set(p.Key, p.Value)
			}
		}
	}
	config := model.Map{}
	for _, p := range c.Config {
		if p.Key != "instance" && p.Key != "autoscrape" && p.Key != "extra_labels" {
			config = append(config, p)
		}
	}
	config.Set("instance", model.String(c.Instance))
	config.Set("autoscrape", model.Map{{Key: "enable", Value: model.Bool(false)}})
	config.Set("extra_labels", sorted(labels))
	c.Config = sorted(config)
	return findings
}

// labels are the meta labels. Labels of the object that become the same are refused, for
// one of them would decide what monitors select.
func (m Meta) labels() (labels model.Map, findings []diag.Finding) {
	const integration = ownLabels + "integration_"
	labels.Set(integration+"type", model.String(m.Type))
	labels.Set(integration+"cr_namespace", model.String(m.Namespace))
	labels.Set(integration+"cr_name", model.String(m.Name))
	from := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		name := sanitize(key)
		if other, taken := from[name]; taken {
			findings = append(findings, diag.Finding{Severity: diag.Error, Code: diag.InvalidLabelName, Path: "metadata.labels[" + key + "]", Hint: "rename one of them",
				Message: "the labels " + other + " and " + key + " become the same meta label, " + integration + "cr_label_" + name})
			continue
		}
		from[name] = key
		labels.Set(integration+"cr_label_"+name, model.String(m.Labels[key]))
		labels.Set(integration+"cr_labelpresent_"+name, model.String("true"))
	}
	return labels, findings
}

func sorted(m model.Map) model.Map {
	slices.SortFunc(m, func(a, b model.Pair) int { return strings.Compare(a.Key, b.Key) })
	return m
}

// sanitize replaces what a Prometheus label name cannot hold by underscores.
func sanitize(label string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, label)
}
