package stage

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/logql"
	"github.com/agentry-dev/agentry/generator/model"
)

func (b *builder) drop(path string, s *v1alpha1.DropStageSpec) model.Map {
	switch {
	case s.Value != "" && s.Source == "":
		b.fail(path+".value", "needs a source whose value to compare with")
	case s.Source == "" && s.Expression == "" && s.OlderThan == "" && s.LongerThan == "":
		b.fail(path, "needs at least one of source, expression, olderThan and longerThan")
	}
	if s.Value != "" && s.Expression != "" {
		b.fail(path+".value", "cannot be set together with expression")
	}
	b.regexp(path+".expression", s.Expression)
	if age, ok := b.duration(path+".olderThan", s.OlderThan); ok && age <= 0 {
		b.warn(path+".olderThan", "every line is older than %s", s.OlderThan)
	}
	if s.LongerThan != "" && !isSize(s.LongerThan) {
		b.fail(path+".longerThan", "%q is not a size, like 8kb", s.LongerThan)
	}
	m := model.Map{}
	m.SetText("source", s.Source)
	m.SetText("expression", s.Expression)
	m.SetText("value", s.Value)
	m.SetText("older_than", s.OlderThan)
	m.SetText("longer_than", s.LongerThan)
	m.SetText("drop_counter_reason", s.DropCounterReason)
	return m
}

// duration reads a duration of Go's; ok is false if it is absent or not one.
func (b *builder) duration(path, text string) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		hint := ""
		if strings.ContainsAny(text, "dwy") {
			hint = "the largest unit is the hour: a day is 24h"
		}
		b.report(diag.Error, diag.InvalidDuration, path, hint, "%q is not a duration, like 3s or 1h30m", text)
	}
	return d, err == nil
}

// isSize reports whether the agent reads a text as a number of bytes.
func isSize(text string) bool {
	unit := strings.TrimLeft(text, "0123456789")
	number, err := strconv.ParseUint(text[:len(text)-len(unit)], 10, 64)
	if err != nil {
		return false
	}
	shift := 0
	switch strings.ToLower(strings.TrimSpace(unit)) {
	case "", "b", "byte":
	case "k", "kb", "kilo", "kilobyte", "kilobytes":
		shift = 10
	case "m", "mb", "mega", "megabyte", "megabytes":
		shift = 20
	case "g", "gb", "giga", "gigabyte", "gigabytes":
		shift = 30
	case "t", "tb", "tera", "terabyte", "terabytes":
		shift = 40
	case "p", "pb", "peta", "petabyte", "petabytes":
		shift = 50
	case "e", "eb":
		shift = 60
	default:
		return false
	}
	return number <= math.MaxUint64>>shift
}

func (b *builder) limit(path string, s *v1alpha1.LimitStageSpec) model.Map {
	if s.Rate <= 0 {
		b.fail(path+".rate", "must be above zero")
	}
	if s.Burst <= 0 {
		b.fail(path+".burst", "must be above zero")
	}
	m := model.Map{}
	m.SetInt("rate", int64(s.Rate))
	m.SetInt("burst", int64(s.Burst))
	m.Set("drop", s.Drop)
	return m
}

// match builds a match stage with the stages that it holds as text.
func (b *builder) match(path string, s *v1alpha1.MatchStageSpec) model.Map {
	b.selector(path+".selector", s.Selector)
	m := model.Map{{Key: "selector", Value: s.Selector}}
	m.SetText("pipeline_name", s.PipelineName)
	m.SetText("action", s.Action)
	m.SetText("drop_counter_reason", s.DropCounterReason)
	stages, ok := b.nestedStages(path+".stages", s.Stages)
	if s.Stages != "" {
		m.Set("stages", stages)
	}
	switch s.Action {
	case "", "keep":
		if ok && len(stages) == 0 {
			b.fail(path+".stages", "needs at least one stage, as its action is keep")
		}
		if s.DropCounterReason != "" {
			b.warn(path+".dropCounterReason", "has no effect, as no line is dropped")
		}
	case "drop":
		if len(stages) > 0 {
			b.fail(path+".stages", "must be empty, as the action is drop")
		}
	default:
		b.report(diag.Error, diag.InvalidStage, path+".action", diag.DidYouMean(s.Action, []string{"keep", "drop"}), "must be keep or drop, is %q", s.Action)
	}
	return m
}

func (b *builder) selector(path, selector string) {
	if !b.required(path, selector) || b.tooLong(path, selector) {
		return
	}
	if bad := (*logql.Error)(nil); errors.As(logql.Check(selector), &bad) {
		b.report(diag.Error, diag.InvalidLogQL, textPath(path, bad.Line, bad.Column), "", "%s", bad.Message)
	}
}

func (b *builder) multiline(path string, s *v1alpha1.MultilineStageSpec) model.Map {
	if s.FirstLine == "" {
		b.warn(path+".firstLine", "is empty, so that every line is a first line and nothing is joined")
	}
	b.regexp(path+".firstLine", s.FirstLine)
	if wait, ok := b.duration(path+".maxWaitTime", s.MaxWaitTime); ok && wait <= 0 {
		b.warn(path+".maxWaitTime", "is not above zero, so that lines are not waited for")
	}
	if s.MaxLines < 0 {
		b.warn(path+".maxLines", "is below zero, which the agent takes for no limit")
	}
	m := model.Map{{Key: "firstline", Value: s.FirstLine}}
	m.SetText("max_wait_time", s.MaxWaitTime)
	m.SetInt("max_lines", int64(s.MaxLines))
	return m
}
