package stages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/compile/stage"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// DefaultPrefix is the beginning of the names of metrics by default.
const DefaultPrefix = "promtail_custom_"

// Types of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// minIdle is the shortest time after which the agent forgets a series.
const minIdle = time.Second

// definition holds the properties that must be equal for all metrics of one name.
type definition struct{ kind, help string }

func metrics(p *problems, path string, list map[string]model.MetricStage, before *before) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		s := list[name]
		metric(p, stage.KeyPath(path, name), name, &s, before)
		bounds(p, stage.KeyPath(path, name)+".buckets", s.Buckets, strings.EqualFold(s.Type, histogram))
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func metric(p *problems, path, name string, s *model.MetricStage, before *before) {
	kind := strings.ToLower(s.Type)
	switch kind {
	case counter:
		checkCounter(p, path, s)
	case gauge:
		checkAction(p, path, s.Action, "set", "inc", "dec", "add", "sub")
	case histogram:
		if before.bound != "" {
			p.fail(path, "a histogram cannot have the label le, which %s sets: the agent would crash at the first line",
				before.bound)
		}
	default:
		types := []string{counter, gauge, histogram}
		p.add(diag.Error, diag.InvalidStage, path+".type", diag.DidYouMean(kind, types),
			"must be counter, gauge or histogram, is %q", s.Type)
		return
	}
	checkMetricName(p, path, kind, exposed(name, s), before)
	checkUnused(p, path, kind, s)
	if idle, ok := p.duration(path+".maxIdleDuration", s.MaxIdleDuration); ok && idle < minIdle {
		p.fail(path+".maxIdleDuration", "must be at least %s", minIdle)
	}
}

func checkCounter(p *problems, path string, s *model.MetricStage) {
	action := checkAction(p, path, s.Action, "inc", "add")
	if isTrue(s.MatchAll) && s.Value != "" {
		p.fail(path+".value", "cannot be set together with matchAll")
	}
	switch {
	case isTrue(s.CountEntryBytes) && !isTrue(s.MatchAll):
		p.fail(path+".countEntryBytes", "needs matchAll: true")
	case isTrue(s.CountEntryBytes) && action == "inc":
		p.fail(path+".countEntryBytes", "needs action: add")
	case isTrue(s.MatchAll) && !isTrue(s.CountEntryBytes) && action == "add":
		p.warn(path+".action", "adds nothing: with matchAll there is no value to add, but for countEntryBytes")
	}
}

// checkAction checks an action, and returns it in lower case.
func checkAction(p *problems, path, action string, actions ...string) string {
	lower := strings.ToLower(action)
	if !slices.Contains(actions, lower) {
		p.add(diag.Error, diag.InvalidStage, path+".action", diag.DidYouMean(lower, actions),
			"must be %s or %s, is %q", word(strings.Join(actions[:len(actions)-1], ", ")),
			word(actions[len(actions)-1]), action)
	}
	return lower
}

// checkMetricName checks the name of an exposed metric. The agent accepts any name, but then its own metrics cannot
// be scraped.
func checkMetricName(p *problems, path, kind string, m Metric, before *before) {
	if !prommodel.IsValidLegacyMetricName(m.Name) {
		p.fail(path, "%q is not a metric name: the agent's own metrics could not be read any more", m.Name)
		return
	}
	this := definition{kind: kind, help: m.Help}
	if other, ok := before.defined[m.Name]; ok && other != this {
		p.warn(path, "%s is defined before with another type or description: the agent's own metrics cannot be read "+
			"once both are counted", m.Name)
		return
	}
	if before.defined == nil {
		before.defined = map[string]definition{}
	}
	before.defined[m.Name] = this
}

// checkUnused reports fields that a type of metric does not have.
func checkUnused(p *problems, path, kind string, s *model.MetricStage) {
	for _, f := range []struct {
		field, of string
		set       bool
	}{
		{"matchAll", counter, isTrue(s.MatchAll)},
		{"countEntryBytes", counter, isTrue(s.CountEntryBytes)},
		{"buckets", histogram, len(s.Buckets) > 0},
	} {
		if f.set && kind != f.of {
			p.warn(path+"."+f.field, "has no effect: only a %s has it", word(f.of))
		}
	}
}

// number matches a number in JSON.
var number = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// bounds checks the buckets of a metric, which must ascend for a histogram.
func bounds(p *problems, path string, texts []string, ascend bool) {
	last, lastText := 0.0, ""
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", path, i)
		text = strings.TrimSpace(text)
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil || !number.MatchString(text) {
			p.fail(at, "%q is not a number as JSON has it", text)
			continue
		}
		if ascend && lastText != "" && bound <= last {
			p.fail(at, "the bounds of buckets must ascend: %s is not above %s", text, lastText)
		}
		last, lastText = bound, text
	}
}
