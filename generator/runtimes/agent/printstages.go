package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/stages"
)

// encodeStages writes the items of a pipeline.
func encodeStages(w *writer, pipeline []model.Stage) {
	for i := range pipeline {
		w.item()
		encodeStage(w, &pipeline[i])
		w.endItem()
	}
}

// encodeStage writes a stage: a mapping of one key, or an empty one if nothing is set. The agent refuses several
// keys, which the operator writes, and ignores an empty mapping.
func encodeStage(w *writer, s *model.Stage) {
	if s.CRI {
		w.key("cri")
		w.emptyMap()
	}
	if s.Docker {
		w.key("docker")
		w.emptyMap()
	}
	block(w, "drop", s.Drop, encodeDrop)
	block(w, "json", s.JSON, func(w *writer, s *model.JSONStage) {
		w.optStr("source", s.Source)
		w.labels("expressions", s.Expressions)
	})
	w.strs("labelallow", s.LabelAllow)
	w.strs("labeldrop", s.LabelDrop)
	w.labels("labels", s.Labels)
	block(w, "limit", s.Limit, func(w *writer, s *model.LimitStage) {
		w.optInt("rate", int64(s.Rate))
		w.optInt("burst", int64(s.Burst))
		w.boolean("drop", s.Drop)
	})
	block(w, "match", s.Match, encodeMatch)
	encodeMetricStages(w, s.Metrics)
	block(w, "multiline", s.Multiline, func(w *writer, s *model.MultilineStage) {
		w.str("firstline", s.FirstLine)
		w.optStr("max_wait_time", s.MaxWaitTime)
		w.optInt("max_lines", int64(s.MaxLines))
	})
	block(w, "output", s.Output, func(w *writer, s *model.OutputStage) { w.str("source", s.Source) })
	block(w, "pack", s.Pack, encodePack)
	encodeTextStages(w, s)
}

// encodeTextStages writes the stages that read and change texts.
func encodeTextStages(w *writer, s *model.Stage) {
	block(w, "regex", s.Regex, func(w *writer, s *model.RegexStage) {
		w.optStr("source", s.Source)
		w.str("expression", s.Expression)
	})
	block(w, "replace", s.Replace, func(w *writer, s *model.ReplaceStage) {
		w.optStr("source", s.Source)
		w.str("expression", s.Expression)
		w.optStr("replace", s.Replace)
	})
	block(w, "template", s.Template, func(w *writer, s *model.TemplateStage) {
		w.str("source", s.Source)
		w.str("template", s.Template)
	})
	block(w, "tenant", s.Tenant, func(w *writer, s *model.TenantStage) {
		w.optStr("label", s.Label)
		w.optStr("source", s.Source)
		w.optStr("value", s.Value)
	})
	block(w, "timestamp", s.Timestamp, func(w *writer, s *model.TimestampStage) {
		w.str("source", s.Source)
		w.str("format", s.Format)
		w.strs("fallback_formats", s.FallbackFormats)
		w.optStr("location", s.Location)
		w.optStr("action_on_failure", s.ActionOnFailure)
	})
}

func encodeDrop(w *writer, s *model.DropStage) {
	w.optStr("source", s.Source)
	w.optStr("expression", s.Expression)
	w.optStr("value", s.Value)
	w.optStr("older_than", s.OlderThan)
	w.optStr("longer_than", s.LongerThan)
	w.optStr("drop_counter_reason", s.DropCounterReason)
}

func encodeMatch(w *writer, s *model.MatchStage) {
	w.str("selector", s.Selector)
	w.optStr("pipeline_name", s.PipelineName)
	w.optStr("action", s.Action)
	w.optStr("drop_counter_reason", s.DropCounterReason)
	switch {
	case s.Stages == nil:
	case len(s.Stages) == 0:
		w.key("stages")
		w.emptyList()
	default:
		w.open("stages")
		encodeStages(w, s.Stages)
		w.close()
	}
}

func encodePack(w *writer, s *model.PackStage) {
	w.strs("labels", s.Labels)
	w.optTrue("ingest_timestamp", s.IngestTimestamp) // false may mean absent, which the agent reads as true
}

func encodeMetricStages(w *writer, all map[string]model.MetricStage) {
	if len(all) == 0 {
		return
	}
	w.open("metrics")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		w.openMap(name)
		w.str("type", stages.Type(s.Type))
		w.optStr("description", s.Description)
		w.optStr("prefix", s.Prefix)
		w.optStr("source", s.Source)
		w.optStr("max_idle_duration", s.MaxIdleDuration)
		w.open("config")
		encodeMetricConfig(w, &s)
		w.close()
		w.close()
	}
	w.close()
}

func encodeMetricConfig(w *writer, s *model.MetricStage) {
	if s.MatchAll != nil && *s.MatchAll {
		w.boolean("match_all", true)
	}
	if s.CountEntryBytes != nil && *s.CountEntryBytes {
		w.boolean("count_entry_bytes", true)
	}
	w.optStr("value", s.Value)
	w.str("action", s.Action)
	if len(s.Buckets) == 0 {
		return
	}
	w.open("buckets")
	for _, bound := range s.Buckets {
		w.dash()
		w.number(strings.TrimSpace(bound))
	}
	w.close()
}
