package integration

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Meta is the data about a MetricsIntegration that its targets have in their labels.
type Meta struct {
	// Namespace and Name are the object's.
	Namespace, Name string
	// Type is spec.type of RFC 1: daemonset, singleton or normal.
	Type string
	// Labels are the object's.
	Labels map[string]string
}

// Mark applies RFC 1 to a checked MetricsIntegration: its instance key is the object's, it never scrapes
// itself, and its labels name the object. It returns new findings only.
func (c *Checked) Mark(m Meta) diag.List {
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

// labels returns the meta labels. It refuses labels of the object that become the same meta label, because it
// would be undefined which one monitors select by.
func (m Meta) labels() (labels model.Map, findings diag.List) {
	const integration = ownLabels + "integration_"
	labels.Set(integration+"type", model.String(m.Type))
	labels.Set(integration+"cr_namespace", model.String(m.Namespace))
	labels.Set(integration+"cr_name", model.String(m.Name))
	from := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		name := model.LabelName(key)
		if other, taken := from[name]; taken {
			findings = append(findings, diag.InvalidLabelName.At("metadata.labels["+key+"]", "%s",
				"the labels "+other+" and "+key+" become the same meta label, "+integration+
					"cr_label_"+name).WithHint("rename one of them"))
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
