// Package stages prints pipelines of logs as blocks of Alloy's loki.process, which has the stages of the Grafana Agent
// (Promtail's) under other names. Some values have another spelling here: sizes have a unit, actions of metrics are in
// lower case, and a time of zero, which means no time at all in Alloy, is the shortest one.
//
// Package agent/stages reports the settings that the agent refuses too, and [Check] those that only Alloy refuses.
package stages

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// Check reports the settings of a pipeline that the agent accepts and Alloy does not have.
func Check(pipeline []model.Stage) (found diag.List) {
	for i := range pipeline {
		s := &pipeline[i]
		if s.Drop != nil && s.Drop.LongerThan != "" {
			if n, ok := stages.Bytes(s.Drop.LongerThan); ok && n == 0 {
				found = append(found, diag.NotInRuntime.At(s.Path+".drop.longerThan",
					"Alloy takes a size of zero for none").WithHint("write expression: .+ instead"))
			}
		}
		if s.Match != nil {
			found = append(found, Check(s.Match.Stages)...)
		}
	}
	return found
}

// Blocks returns the blocks for a pipeline. A stage without settings has none.
func Blocks(pipeline []model.Stage) (out []*syntax.Block) {
	for i := range pipeline {
		if b := block(&pipeline[i]); b.Name != "" {
			out = append(out, &b)
		}
	}
	return out
}

// block returns the block of a stage, or one without a name.
func block(s *model.Stage) (b syntax.Block) {
	switch {
	case s.CRI:
		b.Name = "stage.cri"
	case s.Docker:
		b.Name = "stage.docker"
	case s.Drop != nil:
		b = drop(s.Drop)
	case s.JSON != nil:
		b = named("json", text{"source", s.JSON.Source})
		b.Set("expressions", texts(s.JSON.Expressions))
	case len(s.LabelAllow) > 0:
		b = named("label_keep")
		b.Set("values", syntax.Strings(s.LabelAllow))
	case len(s.LabelDrop) > 0:
		b = named("label_drop")
		b.Set("values", syntax.Strings(s.LabelDrop))
	case len(s.Labels) > 0:
		b = named("labels")
		b.Set("values", texts(s.Labels))
	case s.Limit != nil:
		b = limit(s.Limit)
	case s.Match != nil:
		b = match(s.Match)
	case len(s.Metrics) > 0:
		b = metrics(s.Metrics)
	case s.Multiline != nil:
		b = multiline(s.Multiline)
	case s.Pack != nil: // its time is the line's, as by default: the resource cannot say otherwise
		b = named("pack")
		b.Set("labels", syntax.Strings(s.Pack.Labels))
	default:
		b = ofTexts(s)
	}
	return b
}

// ofTexts returns the block of a stage that reads or changes texts.
func ofTexts(s *model.Stage) (b syntax.Block) {
	switch {
	case s.Output != nil:
		b = named("output", text{"source", s.Output.Source})
	case s.Regex != nil:
		b = named("regex", text{"expression", s.Regex.Expression}, text{"source", s.Regex.Source})
	case s.Replace != nil:
		b = named("replace", text{"expression", s.Replace.Expression}, text{"source", s.Replace.Source},
			text{"replace", s.Replace.Replace})
	case s.Template != nil:
		b = named("template", text{"source", s.Template.Source})
		b.Set("template", syntax.String(s.Template.Template))
	case s.Tenant != nil:
		b = named("tenant", text{"label", s.Tenant.Label}, text{"source", s.Tenant.Source},
			text{"value", s.Tenant.Value})
	case s.Timestamp != nil:
		t := s.Timestamp
		b = named("timestamp", text{"source", t.Source}, text{"format", t.Format})
		if len(t.FallbackFormats) > 0 {
			b.Set("fallback_formats", syntax.Strings(t.FallbackFormats))
		}
		add(&b, text{"location", t.Location}, text{"action_on_failure", cmp.Or(t.ActionOnFailure, DefaultOnFailure)})
	}
	return b
}

// DefaultOnFailure is the agent's default for the time of a line without one. Alloy forgets its own default.
const DefaultOnFailure = "fudge"

// text is an attribute that is left out if it is empty.
type text struct{ name, value string }

// named returns the block of a kind of stage.
func named(kind string, attrs ...text) syntax.Block {
	b := syntax.Block{Name: "stage." + kind}
	add(&b, attrs...)
	return b
}

func add(b *syntax.Block, attrs ...text) {
	for _, a := range attrs {
		if a.value != "" {
			b.Set(a.name, syntax.String(a.value))
		}
	}
}

func texts(m map[string]string) syntax.Expr {
	var pairs []syntax.Pair
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, syntax.Pair{Key: key, Value: syntax.String(m[key])})
	}
	return syntax.Object(pairs)
}

func drop(s *model.DropStage) syntax.Block {
	return named("drop", text{"source", s.Source}, text{"expression", s.Expression}, text{"value", s.Value},
		text{"older_than", aboveZero(s.OlderThan, false)}, text{"longer_than", size(s.LongerThan)},
		text{"drop_counter_reason", s.DropCounterReason})
}

// aboveZero returns a duration, or the shortest one in the place of one that Alloy does not take: zero, or any that is
// negative.
func aboveZero(text string, negative bool) string {
	if d, err := time.ParseDuration(text); err == nil && (d == 0 || d < 0 && negative) {
		return "1ns"
	}
	return text
}

// size returns a size in the agent's spelling as Alloy reads it, whose units have other names. No line is as long as
// the largest.
func size(text string) string {
	const largest = 1 << 60
	n, ok := stages.Bytes(text)
	if !ok {
		return ""
	}
	return strconv.FormatUint(min(n, largest), 10) + "B"
}

func limit(s *model.LimitStage) syntax.Block {
	b := named("limit")
	b.Set("rate", syntax.Int(int64(s.Rate)))
	b.Set("burst", syntax.Int(int64(s.Burst)))
	if s.Drop {
		b.Set("drop", syntax.Bool(true))
	}
	return b
}

func match(s *model.MatchStage) syntax.Block {
	b := named("match", text{"selector", s.Selector}, text{"pipeline_name", s.PipelineName}, text{"action", s.Action},
		text{"drop_counter_reason", s.DropCounterReason})
	b.Blocks = Blocks(s.Stages)
	return b
}

// multiline returns the block of a stage that joins lines. A negative number of lines is not a limit.
func multiline(s *model.MultilineStage) syntax.Block {
	b := named("multiline")
	b.Set("firstline", syntax.String(s.FirstLine))
	add(&b, text{"max_wait_time", aboveZero(s.MaxWaitTime, true)})
	switch {
	case s.MaxLines < 0:
		b.Set("max_lines", syntax.Int(math.MaxInt64))
	case s.MaxLines > 0:
		b.Set("max_lines", syntax.Int(int64(s.MaxLines)))
	}
	return b
}

// metrics returns the block of a stage that counts lines. The prefix of names is the agent's own one by default.
func metrics(all map[string]model.MetricStage) syntax.Block {
	b := named("metrics")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		kind := strings.ToLower(s.Type)
		m := syntax.Block{Name: "metric." + kind}
		prefix := s.Prefix
		if prefix == "" {
			prefix = stages.DefaultPrefix
		}
		add(&m, text{"name", name}, text{"prefix", prefix}, text{"description", s.Description},
			text{"source", s.Source},
			text{"max_idle_duration", s.MaxIdleDuration}, text{"value", s.Value})
		if kind == "histogram" {
			m.Set("buckets", numbers(s.Buckets))
		} else {
			m.Set("action", syntax.String(strings.ToLower(s.Action)))
		}
		if kind == "counter" {
			for _, v := range [...]struct {
				name string
				set  *bool
			}{{"match_all", s.MatchAll}, {"count_entry_bytes", s.CountEntryBytes}} {
				if v.set != nil && *v.set {
					m.Set(v.name, syntax.Bool(true))
				}
			}
		}
		b.Add(m)
	}
	return b
}

func numbers(list []string) syntax.Expr {
	out := make([]syntax.Expr, len(list))
	for i, text := range list {
		out[i], _ = syntax.Number(text) // bounds are checked to be numbers
	}
	return syntax.List(out...)
}
