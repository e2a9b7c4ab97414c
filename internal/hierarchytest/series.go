package hierarchytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

// parseSeries reads a series in Prometheus's notation.
func parseSeries(text string) (labels.Labels, error) {
	if strings.ContainsAny(text, "\r\n") {
		return labels.EmptyLabels(), errors.New("it has several lines")
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text + " 1\n"))
	if err != nil {
		return labels.EmptyLabels(), err
	}
	for name, family := range families {
		if len(families) > 1 || len(family.GetMetric()) != 1 {
			break
		}
		b := labels.NewScratchBuilder(0)
		b.Add(model.MetricNameLabel, name)
		for _, pair := range family.GetMetric()[0].GetLabel() {
			b.Add(pair.GetName(), pair.GetValue())
		}
		b.Sort()
		return b.Labels(), nil
	}
	return labels.EmptyLabels(), errors.New("it is not one series")
}

// written formats a series in Prometheus's notation.
func written(series labels.Labels) string {
	var parts []string
	series.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			parts = append(parts, fmt.Sprintf("%s=%q", l.Name, l.Value))
		}
	})
	name := series.Get(model.MetricNameLabel)
	if len(parts) == 0 {
		return name
	}
	return name + "{" + strings.Join(parts, ", ") + "}"
}

// store returns the series that is stored for a sample of a target. why says what drops the sample, or is empty.
func store(j *job, target scraped, sample labels.Labels) (series labels.Labels, why string, err error) {
	lb := labels.NewBuilder(sample)
	if j.HonorLabels {
		target.labels.Range(func(l labels.Label) {
			if !sample.Has(l.Name) {
				lb.Set(l.Name, l.Value)
			}
		})
	} else {
		override(lb, sample, target.labels)
	}
	configs, err := rules(j.MetricRelabel, target.vars)
	if err != nil {
		return labels.EmptyLabels(), "", err
	}
	for i, rule := range configs {
		if !relabel.ProcessBuilder(lb, rule) {
			return labels.EmptyLabels(), fmt.Sprintf("metric relabel rule %d: %s", i+1,
				describe(&j.MetricRelabel[i], target.vars)), nil
		}
	}
	return lb.Labels(), "", nil
}

// override adds the labels of the target. Labels of the sample with the same names are renamed.
func override(lb *labels.Builder, sample, target labels.Labels) {
	var exposed []labels.Label
	target.Range(func(l labels.Label) {
		if value := sample.Get(l.Name); value != "" {
			exposed = append(exposed, labels.Label{Name: l.Name, Value: value})
		}
		lb.Set(l.Name, l.Value)
	})
	slices.SortStableFunc(exposed, func(a, b labels.Label) int { return len(a.Name) - len(b.Name) })
	for _, l := range exposed {
		name := l.Name
		for lb.Get(name) != "" || sample.Get(name) != "" {
			name = model.ExportedLabelPrefix + name
		}
		lb.Set(name, l.Value)
	}
}

// send returns the series that a writer receives. why says what drops the series, or is empty.
func send(g *global, w *writer, target scraped, series labels.Labels) (sent labels.Labels, why string, err error) {
	lb := labels.NewBuilder(series)
	for name, value := range g.ExternalLabels {
		if series.Get(name) == "" {
			lb.Set(name, target.vars.expand(value))
		}
	}
	configs, err := rules(w.Relabel, target.vars)
	if err != nil {
		return labels.EmptyLabels(), "", err
	}
	for i, rule := range configs {
		if !relabel.ProcessBuilder(lb, rule) {
			return labels.EmptyLabels(), fmt.Sprintf("write relabel rule %d: %s", i+1,
				describe(&w.Relabel[i], target.vars)), nil
		}
	}
	return lb.Labels(), "", nil
}
