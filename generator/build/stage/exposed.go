package stage

import "github.com/agentry-dev/agentry/generator/model"

// Metric is a metric that a pipeline makes of lines, as the agent exposes it. All of one
// name in an agent must agree in the rest, or its own metrics cannot be read any more.
type Metric struct{ Name, Type, Help string }

// Metrics calls yield for the metrics of a pipeline as [Build] made it, those of nested
// stages included.
func Metrics(stages []model.Map, yield func(Metric)) {
	for _, s := range stages {
		if metrics, ok := s.Get("metrics").(model.Map); ok {
			for _, p := range metrics {
				yield(exposed(p))
			}
		}
		match, _ := s.Get("match").(model.Map)
		nested, _ := match.Get("stages").(model.List)
		for _, n := range nested {
			if one, ok := n.(model.Map); ok {
				Metrics([]model.Map{one}, yield)
			}
		}
	}
}

func exposed(p model.Pair) Metric {
	m, _ := p.Value.(model.Map)
	text := func(key string) string {
		s, _ := m.Get(key).(string)
		return s
	}
	out := Metric{Name: text("prefix") + p.Key, Type: text("type"), Help: text("description")}
	if text("prefix") == "" {
		out.Name = defaultPrefix + p.Key
	}
	return out
}
