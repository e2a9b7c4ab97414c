package stages

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
)

// Metric is a metric that a pipeline makes of lines, as the agent exposes it. All metrics of one name in an agent
// must have the same type and help, otherwise its own metrics cannot be read.
type Metric struct{ Name, Type, Help string }

// Metrics calls yield for the metrics of a pipeline, including those of nested stages.
func Metrics(pipeline []model.Stage, yield func(Metric)) {
	for i := range pipeline {
		s := &pipeline[i]
		for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
			m := s.Metrics[name]
			yield(exposed(name, &m))
		}
		if s.Match != nil {
			Metrics(s.Match.Stages, yield)
		}
	}
}

func exposed(name string, s *model.MetricStage) Metric {
	prefix := s.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return Metric{Name: prefix + name, Type: Type(s.Type), Help: s.Description}
}

// Type returns the type of a metric in the operator's spelling, ignoring letter case.
func Type(t string) string {
	switch strings.ToLower(t) {
	case counter:
		return "Counter"
	case gauge:
		return "Gauge"
	case histogram:
		return "Histogram"
	}
	return t
}
