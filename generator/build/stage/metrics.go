package stage

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Types of metrics, and the prefix of their names where none is set.
const (
	counter       = "counter"
	gauge         = "gauge"
	histogram     = "histogram"
	defaultPrefix = "promtail_custom_"
)

// minIdle is the shortest time after which the agent forgets a series.
const minIdle = time.Second

// definition is what all metrics of one name must agree in.
type definition struct{ kind, help string }

func (b *builder) metrics(path string, specs map[string]v1alpha1.MetricsStageSpec) model.Map {
	m := make(model.Map, 0, len(specs))
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		s := specs[name]
		m.Set(name, b.metric(child(path, name), name, &s))
	}
	return m
}

func (b *builder) metric(path, name string, s *v1alpha1.MetricsStageSpec) model.Map {
	b.checkMetric(path, name, s)
	m := model.Map{{Key: "type", Value: metricType(s.Type)}}
	m.SetText("description", s.Description)
	m.SetText("prefix", s.Prefix)
	m.SetText("source", s.Source)
	m.SetText("max_idle_duration", s.MaxIdleDuration)
	config := model.Map{}
	if isTrue(s.MatchAll) {
		config.Set("match_all", true)
	}
	if isTrue(s.CountEntryBytes) {
		config.Set("count_entry_bytes", true)
	}
	config.SetText("value", s.Value)
	config.Set("action", s.Action)
	if bounds := b.bounds(path+".buckets", s.Buckets, strings.EqualFold(s.Type, histogram)); len(bounds) > 0 {
		config.Set("buckets", bounds)
	}
	m.Set("config", config)
	return m
}

// metricType is a type in the operator's spelling, in whatever case it is written.
func metricType(t string) string {
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

func isTrue(b *bool) bool { return b != nil && *b }

func (b *builder) checkMetric(path, name string, s *v1alpha1.MetricsStageSpec) {
	kind := strings.ToLower(s.Type)
	switch kind {
	case counter:
		b.checkCounter(path, s)
	case gauge:
		b.checkAction(path, s.Action, "set", "inc", "dec", "add", "sub")
	case histogram:
		if b.bound != "" {
			b.fail(path, "a histogram cannot have the label le, which %s sets: the agent would crash at the first line", b.bound)
		}
	default:
		types := []string{counter, gauge, histogram}
		b.report(diag.Error, diag.InvalidStage, path+".type", diag.DidYouMean(kind, types), "must be counter, gauge or histogram, is %q", s.Type)
		return
	}
	b.checkMetricName(path, name, kind, s)
	b.checkUnused(path, kind, s)
	if idle, ok := b.duration(path+".maxIdleDuration", s.MaxIdleDuration); ok && idle < minIdle {
		b.fail(path+".maxIdleDuration", "must be at least %s", minIdle)
	}
}

func (b *builder) checkCounter(path string, s *v1alpha1.MetricsStageSpec) {
	action := b.checkAction(path, s.Action, "inc", "add")
	if isTrue(s.MatchAll) && s.Value != "" {
		b.fail(path+".value", "cannot be set together with matchAll")
	}
	switch {
	case isTrue(s.CountEntryBytes) && !isTrue(s.MatchAll):
		b.fail(path+".countEntryBytes", "needs matchAll: true")
	case isTrue(s.CountEntryBytes) && action == "inc":
		b.fail(path+".countEntryBytes", "needs action: add")
	case isTrue(s.MatchAll) && !isTrue(s.CountEntryBytes) && action == "add":
		b.warn(path+".action", "adds nothing: with matchAll there is no value to add, but for countEntryBytes")
	}
}

// checkAction checks an action, and returns it in lower case.
func (b *builder) checkAction(path, action string, actions ...string) string {
	lower := strings.ToLower(action)
	if !slices.Contains(actions, lower) {
		b.report(diag.Error, diag.InvalidStage, path+".action", diag.DidYouMean(lower, actions),
			"must be %s or %s, is %q", word(strings.Join(actions[:len(actions)-1], ", ")), word(actions[len(actions)-1]), action)
	}
	return lower
}

// checkMetricName checks the name that a metric is exposed by. The agent takes any, but then
// its own metrics cannot be scraped any more.
func (b *builder) checkMetricName(path, name, kind string, s *v1alpha1.MetricsStageSpec) {
	full := s.Prefix + name
	if s.Prefix == "" {
		full = defaultPrefix + name
	}
	if !prommodel.IsValidLegacyMetricName(full) {
		b.fail(path, "%q is not a metric name: the agent's own metrics could not be read any more", full)
		return
	}
	this := definition{kind: kind, help: s.Description}
	if before, ok := b.defined[full]; ok && before != this {
		b.warn(path, "%s is defined before with another type or description: the agent's own metrics cannot be read once both are counted", full)
		return
	}
	if b.defined == nil {
		b.defined = map[string]definition{}
	}
	b.defined[full] = this
}

// checkUnused reports fields that a type of metric does not have.
func (b *builder) checkUnused(path, kind string, s *v1alpha1.MetricsStageSpec) {
	for _, f := range []struct {
		field, of string
		set       bool
	}{
		{"matchAll", counter, isTrue(s.MatchAll)},
		{"countEntryBytes", counter, isTrue(s.CountEntryBytes)},
		{"buckets", histogram, len(s.Buckets) > 0},
	} {
		if f.set && kind != f.of {
			b.warn(path+"."+f.field, "has no effect: only a %s has it", word(f.of))
		}
	}
}

// number is how JSON writes one.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// bounds are the buckets of a metric, which for a histogram must ascend.
func (b *builder) bounds(path string, bounds []string, ascend bool) model.List {
	var list model.List
	var last float64
	for i, text := range bounds {
		at := fmt.Sprintf("%s[%d]", path, i)
		text = strings.TrimSpace(text)
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil || !number.MatchString(text) {
			b.fail(at, "%q is not a number as JSON has it", text)
			continue
		}
		if ascend && len(list) > 0 && bound <= last {
			b.fail(at, "the bounds of buckets must ascend: %s is not above %s", text, list[len(list)-1])
		}
		list, last = append(list, model.Number(text)), bound
	}
	return list
}
