package agent

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/agentry-dev/agentry/generator/model"
)

// comparesLabelsOf reports whether a rule of a hand-written job compares labels with each other.
func comparesLabelsOf(raw model.Raw) bool {
	for _, name := range [...]string{"relabel_configs", "metric_relabel_configs"} {
		rules := raw.Child(name)
		if rules != nil && slices.ContainsFunc(rules.Content, func(r *yaml.Node) bool {
			rule := model.Raw{Job: r}
			return comparesLabels(&model.Relabel{Action: rule.Field("action")})
		}) {
			return true
		}
	}
	return false
}
