package stages

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent/internal/logql"
)

func drop(p *problems, path string, s *model.DropStage) {
	switch {
	case s.Value != "" && s.Source == "":
		p.fail(path+".value", "needs a source whose value to compare with")
	case s.Source == "" && s.Expression == "" && s.OlderThan == "" && s.LongerThan == "":
		p.fail(path, "needs at least one of source, expression, olderThan and longerThan")
	}
	if s.Value != "" && s.Expression != "" {
		p.fail(path+".value", "cannot be set together with expression")
	}
	p.regexp(path+".expression", s.Expression)
	if age, ok := p.duration(path+".olderThan", s.OlderThan); ok && age <= 0 {
		p.warn(path+".olderThan", "every line is older than %s", s.OlderThan)
	}
	if _, ok := Bytes(s.LongerThan); s.LongerThan != "" && !ok {
		p.fail(path+".longerThan", "%q is not a size, like 8kb", s.LongerThan)
	}
}

// Bytes returns the number of bytes that a text means to the agent, or false if it means none.
func Bytes(text string) (n uint64, ok bool) {
	unit := strings.TrimLeft(text, "0123456789")
	number, err := strconv.ParseUint(text[:len(text)-len(unit)], 10, 64)
	if err != nil {
		return 0, false
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
		return 0, false
	}
	return number << shift, number <= math.MaxUint64>>shift
}

func limit(p *problems, path string, s *model.LimitStage) {
	if s.Rate <= 0 {
		p.fail(path+".rate", "must be above zero")
	}
	if s.Burst <= 0 {
		p.fail(path+".burst", "must be above zero")
	}
}

// match checks a match stage without its nested stages.
func match(p *problems, path string, s *model.MatchStage) {
	selector(p, path+".selector", s.Selector)
	switch s.Action {
	case "", "keep":
		if !s.Unreadable && len(s.Stages) == 0 {
			p.fail(path+".stages", "needs at least one stage, as its action is keep")
		}
		if s.DropCounterReason != "" {
			p.warn(path+".dropCounterReason", "has no effect, as no line is dropped")
		}
	case "drop":
		if len(s.Stages) > 0 {
			p.fail(path+".stages", "must be empty, as the action is drop")
		}
	default:
		p.add(diag.Error, diag.InvalidStage, path+".action", diag.DidYouMean(s.Action, []string{"keep", "drop"}),
			"must be keep or drop, is %q", s.Action)
	}
}

func selector(p *problems, path, selector string) {
	if !p.required(path, selector) || p.tooLong(path, selector) {
		return
	}
	if bad := (*logql.Error)(nil); errors.As(logql.Check(selector), &bad) {
		p.add(diag.Error, diag.InvalidLogQL, textPath(path, bad.Line, bad.Column), "", "%s", bad.Message)
	}
}

func multiline(p *problems, path string, s *model.MultilineStage) {
	if s.FirstLine == "" {
		p.warn(path+".firstLine", "is empty, so that every line is a first line and nothing is joined")
	}
	p.regexp(path+".firstLine", s.FirstLine)
	if wait, ok := p.duration(path+".maxWaitTime", s.MaxWaitTime); ok && wait <= 0 {
		p.warn(path+".maxWaitTime", "is not above zero, so that lines are not waited for")
	}
	if s.MaxLines < 0 {
		p.warn(path+".maxLines", "is below zero, which the agent takes for no limit")
	}
}

// joins warns about a multiline stage that sees lines as they are in the file: the container runtime writes a time in
// front of each, or makes JSON of it. It reports whether a stage of the pipeline takes that off.
func (c *Checker) joins(pipeline []model.Stage) (bare bool) {
	for i := range pipeline {
		s := &pipeline[i]
		switch {
		case s.CRI, s.Docker, s.Output != nil, s.Replace != nil, s.Pack != nil, s.Match != nil &&
			c.joins(s.Match.Stages):
			return true
		// stdout or stderr
		case s.Multiline != nil && s.Multiline.FirstLine != "" && !strings.Contains(s.Multiline.FirstLine, "std"):
			p := problems{hidden: c.hidden}
			hint := "put cri: {} in front of it, or docker: {} where nodes run Docker"
			if slices.ContainsFunc(pipeline[i:], func(s model.Stage) bool { return s.CRI || s.Docker }) {
				hint = "move it behind the stage cri or docker"
			}
			p.add(diag.Warning, diag.StageIgnored, s.Path+".multiline", hint,
				"joins lines before a stage takes off what the container runtime writes in front of each: firstLine "+
					"sees that text")
			c.report(p)
			return false
		}
	}
	return false
}
