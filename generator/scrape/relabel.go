package scrape

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/diag"
)

// Relabel converts a rule of a monitor. The operator drops empty strings, so they are
// absent here too (reference defect A5).
func Relabel(c *monitoringv1.RelabelConfig) *agentyaml.Relabel {
	r := &agentyaml.Relabel{
		Separator: optional(c.Separator), Regex: agentyaml.Opt(c.Regex), TargetLabel: c.TargetLabel,
		Replacement: optional(c.Replacement), Action: c.Action, Modulus: uint64(max(c.Modulus, 0)),
	}
	for _, l := range c.SourceLabels {
		r.SourceLabels = append(r.SourceLabels, string(l))
	}
	return r
}

func optional(s *string) agentyaml.Text {
	if s == nil {
		return agentyaml.Text{}
	}
	return agentyaml.Opt(*s)
}

// userRules adds the rules that the monitor's author wrote, in order.
func (j *job) userRules(field string, rules []monitoringv1.RelabelConfig) {
	for i := range rules {
		r := Relabel(&rules[i])
		j.check(r, field, i)
		j.add(r)
	}
}

// metricRules sets the rules for samples, without those that would touch the enforced
// namespace label.
func (j *job) metricRules(rules []monitoringv1.RelabelConfig) {
	for i := range rules {
		if label := j.settings.EnforcedNamespaceLabel; label != "" && rules[i].TargetLabel == label {
			j.report(diag.Warning, diag.EnforcedLabel, fmt.Sprintf("%smetricRelabelings[%d].targetLabel", j.path, i),
				"the rule is left out: %s is the GrafanaAgent's enforcedNamespaceLabel", label)
			continue
		}
		r := Relabel(&rules[i])
		j.check(r, "metricRelabelings", i)
		j.config.MetricRelabel = append(j.config.MetricRelabel, r)
	}
}

func (j *job) check(r *agentyaml.Relabel, field string, i int) {
	for _, p := range j.relabel.Check(r) {
		path := j.path + field + "[" + strconv.Itoa(i) + "]"
		if p.Field != "" {
			path += "." + p.Field
		}
		j.findings = append(j.findings, Finding{Severity: p.Severity, Code: p.Code, Path: path, Message: p.Message, Hint: p.Hint})
	}
}

// checkURL reports a URL that the agent cannot parse.
func (j *job) checkURL(field, value string) {
	if value == "" {
		return
	}
	if _, err := url.Parse(value); err != nil {
		if e := (*url.Error)(nil); errors.As(err, &e) {
			err = e.Err // without the URL itself, which may hold a password
		}
		j.report(diag.Error, diag.InvalidURL, j.path+field, "is not a URL: %v", err)
	}
}

// RelabelChecker knows what the agent's Prometheus refuses in a relabelling rule
// (model/relabel of its January 2024 fork). Compiled expressions are remembered, as
// fleets repeat them. The zero value is ready; it is not safe for concurrent use.
type RelabelChecker struct {
	regexes map[string]error
}

// Problem is one thing that is wrong with a rule. Field is the rule's field in the
// custom resource's spelling, or empty.
type Problem struct {
	Severity             diag.Severity
	Code                 diag.Code
	Field, Message, Hint string
}

// targetPattern is what Prometheus takes as a target label of replace: a label name
// that may hold references to groups.
var targetPattern = regexp.MustCompile(`^(?:(?:[a-zA-Z_]|\$(?:\{\w+\}|\w+))+\w*)+$`)

const (
	defaultSeparator   = ";"
	defaultReplacement = "$1"
)

// Check returns what is wrong with a rule; nil for most.
func (c *RelabelChecker) Check(r *agentyaml.Relabel) []Problem {
	var out []Problem
	bad := func(field, format string, args ...any) {
		out = append(out, Problem{Severity: diag.Error, Code: diag.InvalidRelabeling, Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if err := c.compile(r.Regex.Value); err != nil {
		bad("regex", "%v", err)
	}
	checkAction(r, bad)
	for _, f := range [...]struct{ field, value string }{
		{"regex", r.Regex.Value}, {"replacement", r.Replacement.Value}, {"separator", r.Separator.Value}, {"targetLabel", r.TargetLabel},
	} {
		if name := envReference(f.value); name != "" {
			out = append(out, Problem{Severity: diag.Warning, Code: diag.EnvReference, Field: f.field,
				Message: fmt.Sprintf("%s stays as it is written: environment variables are not expanded in relabelings", name),
				Hint:    "the operator's agents would expand it, which lets a monitor read the agent's environment"})
		}
	}
	return out
}

func checkAction(r *agentyaml.Relabel, bad func(field, format string, args ...any)) {
	action := strings.ToLower(r.Action)
	needsTarget := func() {
		if r.TargetLabel == "" {
			bad("targetLabel", "action %s requires a targetLabel", action)
		}
	}
	validTarget := func() {
		if r.TargetLabel != "" && !model.LabelName(r.TargetLabel).IsValidLegacy() {
			bad("targetLabel", "%q is not a label name, as action %s needs", r.TargetLabel, action)
		}
	}
	switch action {
	case "", "replace":
		action = "replace"
		needsTarget()
		if r.TargetLabel != "" && !targetPattern.MatchString(r.TargetLabel) {
			bad("targetLabel", "%q is not a label name", r.TargetLabel)
		}
	case "hashmod":
		needsTarget()
		validTarget()
		if r.Modulus == 0 {
			bad("modulus", "action hashmod requires a modulus above zero")
		}
	case "lowercase", "uppercase":
		needsTarget()
		validTarget()
		if other(r.Replacement, defaultReplacement) {
			bad("replacement", "action %s takes no replacement", action)
		}
	case "keepequal", "dropequal":
		needsTarget()
		validTarget()
		// Even the default expression is refused when it is written out: compiled ones are
		// never equal.
		if r.Regex.Set || other(r.Separator, defaultSeparator) || other(r.Replacement, defaultReplacement) || r.Modulus != 0 {
			bad("", "action %s takes only sourceLabels and targetLabel", action)
		}
	case "labelmap":
		if r.Replacement.Set && !targetPattern.MatchString(r.Replacement.Value) {
			bad("replacement", "%q is not a label name, as action labelmap needs", r.Replacement.Value)
		}
	case "labeldrop", "labelkeep":
		if len(r.SourceLabels) > 0 || r.TargetLabel != "" || other(r.Separator, defaultSeparator) || other(r.Replacement, defaultReplacement) || r.Modulus != 0 {
			bad("", "action %s takes only a regex", action)
		}
	case "keep", "drop":
	default:
		bad("action", "%q is not a relabelling action", r.Action)
	}
}

func other(t agentyaml.Text, def string) bool { return t.Set && t.Value != def }

// compile checks a regular expression the way Prometheus anchors it.
func (c *RelabelChecker) compile(expr string) error {
	if expr == "" {
		return nil
	}
	if err, ok := c.regexes[expr]; ok {
		return err
	}
	_, err := regexp.Compile("^(?:" + expr + ")$")
	if c.regexes == nil {
		c.regexes = map[string]error{}
	}
	c.regexes[expr] = err
	return err
}

// envReference returns the first reference to an environment variable in s that the
// reloader or the agent would expand. ${1} is a group, not a variable.
func envReference(s string) string {
	for i := strings.IndexByte(s, '$'); i >= 0 && i+1 < len(s); {
		rest := s[i+1:]
		if name := agentyaml.Variable(rest); name != "" {
			return "$(" + name + ")"
		}
		if rest[0] == '{' {
			end := strings.IndexByte(rest, '}')
			if end < 0 || strings.Trim(rest[1:end], "0123456789") != "" {
				return "$" + rest[:max(end+1, 1)]
			}
		}
		next := strings.IndexByte(rest, '$')
		if next < 0 {
			return ""
		}
		i += 1 + next
	}
	return ""
}
