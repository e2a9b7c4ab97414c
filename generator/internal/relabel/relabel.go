// Package relabel checks relabelling rules like the agent's Prometheus.
package relabel

import (
	"fmt"
	"strings"

	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/expression"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// Checker finds what the agent's Prometheus refuses in a relabelling rule (model/relabel of its January 2024 fork). It
// caches expressions, because fleets repeat them. The zero value is ready for use. It is not safe for concurrent use.
type Checker struct {
	regexes map[string]error
	surplus int64
}

// maxSurplus limits the instructions of all expressions of a checker beyond the lengths of their texts: agents, and
// the renderer for Alloy, keep all of them compiled, at some 100 bytes for each instruction.
const maxSurplus = 500_000

// targetPattern matches a target label that Prometheus accepts for replace: a label name that can refer to groups.
var targetPattern = lazyregexp.New(`^(?:(?:[a-zA-Z_]|\$(?:\{\w+\}|\w+))+\w*)+$`)

const (
	defaultSeparator   = ";"
	defaultReplacement = "$1"
)

const labelHint = "label names have letters, digits and _ only; service discovery replaces other characters by _"

// Check returns the errors of a rule, at the fields of the custom resource.
func (c *Checker) Check(r *model.Relabel) diag.List {
	var out diag.List
	bad := func(field, format string, args ...any) {
		out.Add(diag.InvalidRelabeling.At(field, format, args...))
	}
	if err := c.Compile(r.Regex.Value); err != nil {
		bad("regex", "%v", err)
	}
	for _, name := range r.SourceLabels {
		if !prommodel.LabelName(name).IsValidLegacy() {
			out.Add(diag.InvalidRelabeling.At("sourceLabels", "%q is not a label name", name).WithHint(labelHint))
		}
	}
	if r.Regex.Value == "null" || r.Regex.Value == "~" {
		out.Add(diag.InvalidRelabeling.At("regex",
			"the agent reads it as null, even in quotes, and not as a regular expression").
			WithHint("write (?:" + r.Regex.Value + ")"))
	}
	checkAction(r, bad)
	for _, f := range [...]struct{ field, value string }{
		{"regex", r.Regex.Value}, {"replacement", r.Replacement.Value}, {"separator", r.Separator.Value},
		{"targetLabel", r.TargetLabel},
	} {
		if name := envReference(f.value); name != "" {
			out.Add(diag.EnvReference.At(f.field,
				"%s is left unchanged: environment variables are not expanded in relabelings", name).
				As(diag.Warning).
				WithHint("the operator's agents would expand it, which lets a monitor read the agent's environment"))
		}
	}
	return out
}

func checkAction(r *model.Relabel, bad func(field, format string, args ...any)) {
	action := strings.ToLower(r.Action)
	needsTarget := func() {
		if r.TargetLabel == "" {
			bad("targetLabel", "action %s requires a targetLabel", action)
		}
	}
	validTarget := func() {
		if r.TargetLabel != "" && !prommodel.LabelName(r.TargetLabel).IsValidLegacy() {
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
		// Prometheus refuses even the default expression if it is written out, because two compiled expressions
		// are never equal.
		if r.Regex.Set || other(r.Separator, defaultSeparator) || other(r.Replacement, defaultReplacement) ||
			r.Modulus != 0 {
			bad("", "action %s takes only sourceLabels and targetLabel", action)
		}
	case "labelmap":
		if r.Replacement.Set && !targetPattern.MatchString(r.Replacement.Value) {
			bad("replacement", "%q is not a label name, as action labelmap needs", r.Replacement.Value)
		}
	case "labeldrop", "labelkeep":
		if len(r.SourceLabels) > 0 || r.TargetLabel != "" || other(r.Separator, defaultSeparator) ||
			other(r.Replacement, defaultReplacement) || r.Modulus != 0 {
			bad("", "action %s takes only a regex", action)
		}
	case "keep", "drop":
	default:
		bad("action", "%q is not a relabelling action", r.Action)
	}
}

func other(t model.Text, def string) bool { return t.Set && t.Value != def }

// Compile checks a regular expression with the anchors that Prometheus adds.
func (c *Checker) Compile(expr string) error {
	if expr == "" {
		return nil
	}
	if err, ok := c.regexes[expr]; ok {
		return err
	}
	surplus, err := expression.Surplus("^(?:" + expr + ")$")
	if c.surplus += surplus; err == nil && surplus > 0 && c.surplus > maxSurplus {
		err = fmt.Errorf("compiles to about %d instructions, and all different expressions together to more than %d: "+
			"use lower repetition counts in braces", surplus, maxSurplus)
	}
	if c.regexes == nil {
		c.regexes = map[string]error{}
	}
	c.regexes[expr] = err
	return err
}

// envReference returns the first reference to an environment variable that the reloader or the agent would
// replace. ${1} refers to a group of the expression, not to a variable.
func envReference(s string) string {
	for i := strings.IndexByte(s, '$'); i >= 0 && i+1 < len(s); {
		rest := s[i+1:]
		if name := expand.Variable(rest); name != "" {
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
