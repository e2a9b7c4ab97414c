package scrape

import (
	"fmt"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/relabel"
	"github.com/agentry-dev/agentry/generator/model"
)

// Relabel converts a rule of a monitor. Empty strings become absent, because the operator drops them (reference
// defect A5).
func Relabel(c *monitoringv1.RelabelConfig) *model.Relabel {
	return &model.Relabel{
		SourceLabels: texts(c.SourceLabels), Separator: optional(c.Separator), Regex: model.NonEmpty(c.Regex),
		TargetLabel: c.TargetLabel,
		Replacement: optional(c.Replacement), Action: c.Action, Modulus: uint64(max(c.Modulus, 0)),
	}
}

// emptyTexts is [EmptyTexts] for a rule of a monitor.
func (j *job) emptyTexts(c *monitoringv1.RelabelConfig, path string) {
	written := Relabel(c)
	written.Separator, written.Replacement = text(c.Separator), text(c.Replacement)
	keepEmptyRegex(written, j.secrets, path)
	j.found.Add(EmptyTexts(written, path)...)
}

// EmptyTexts returns warnings of fields that a rule, as it is written, has as "". The operator takes them as absent
// (reference defect A5).
func EmptyTexts(written *model.Relabel, path string) (out diag.List) {
	warn := func(field string, v model.Text, matters bool, effect, hint string) {
		if v.Set && v.Value == "" && matters {
			out = append(out, diag.NotRendered.At(path+field, "%s",
				`"" counts as absent, as with the operator, so `+effect+
					"; compatibility: current keeps it").WithHint(hint))
		}
	}
	replaces := written.Action == "" || strings.EqualFold(written.Action, "replace")
	warn(".regex", written.Regex, true, "the rule matches every value", "write () to match the empty value")
	warn(".separator", written.Separator, len(written.SourceLabels) > 1, "the separator is ;", "")
	warn(".replacement", written.Replacement, replaces, "the replacement is $1", "")
	return out
}

// keepEmptyRegex gives a rule the regex that is written as "", which the API's type cannot tell from none.
func keepEmptyRegex(r *model.Relabel, in Secrets, path string) {
	if !r.Regex.Set && in.IsEmptyText(path+".regex") {
		r.Regex = model.Present("")
	}
}

// WrittenRelabel converts a rule as it is written: it keeps empty strings.
func WrittenRelabel(c *v1alpha1.RelabelConfig) *model.Relabel {
	return &model.Relabel{
		SourceLabels: texts(c.SourceLabels), Separator: text(c.Separator), Regex: text(c.Regex),
		TargetLabel: c.TargetLabel,
		Replacement: text(c.Replacement), Action: strings.ToLower(c.Action), Modulus: uint64(max(c.Modulus, 0)),
	}
}

func texts[S ~string](list []S) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return out
}

func text(s *string) model.Text {
	if s == nil {
		return model.Text{}
	}
	return model.Present(*s)
}

func optional(s *string) model.Text {
	if s == nil {
		return model.Text{}
	}
	return model.NonEmpty(*s)
}

// userRules adds the rules that the monitor's author wrote, in order.
func (j *job) userRules(field string, rules []monitoringv1.RelabelConfig) {
	for i := range rules {
		r := Relabel(&rules[i])
		r.Written = model.Written{Field: field, IsBelow: true, Item: i + 1}
		j.emptyTexts(&rules[i], j.path+field+"["+strconv.Itoa(i)+"]")
		j.checkTarget(r, field, i)
		j.add(r)
	}
}

// metricRules sets the rules for samples.
func (j *job) metricRules(rules []monitoringv1.RelabelConfig) {
	for i := range rules {
		j.emptyTexts(&rules[i], j.path+"metricRelabelings["+strconv.Itoa(i)+"]")
		j.metricRule(i, Relabel(&rules[i]))
	}
}

// metricRule adds a rule for samples, unless it would change the enforced namespace label.
func (j *job) metricRule(i int, r *model.Relabel) {
	if label := j.settings.EnforcedNamespaceLabel; label != "" && r.TargetLabel == label {
		j.found.Add(diag.EnforcedLabel.At(fmt.Sprintf("%smetricRelabelings[%d].targetLabel", j.path, i),
			"the rule is left out: %s is the GrafanaAgent's enforcedNamespaceLabel", label))
		return
	}
	r.Written = samplesItem(i)
	j.checkSample(r, i)
	j.config.MetricRelabel = append(j.config.MetricRelabel, r)
}

// samplesItem returns where the author of a monitor wrote a rule for samples.
func samplesItem(i int) model.Written {
	return model.Written{Field: "metricRelabelings", IsBelow: true, Item: i + 1}
}

// checkTarget checks a rule for targets that the author of the job wrote, before it is added.
func (j *job) checkTarget(r *model.Relabel, field string, i int) {
	path := j.path + field + "[" + strconv.Itoa(i) + "]"
	j.found.Add(j.relabel.Check(r).Below(path)...)
	j.found.Add(j.targets().Lint(j.config.Relabel, r).Below(path)...)
}

// checkSample checks a rule for samples, before it is added.
func (j *job) checkSample(r *model.Relabel, i int) {
	path := j.path + "metricRelabelings[" + strconv.Itoa(i) + "]"
	j.found.Add(j.relabel.Check(r).Below(path)...)
	j.found.Add(relabel.Samples().Lint(j.config.MetricRelabel, r).Below(path)...)
}

// RelabelChecker finds what the agent's Prometheus refuses in a relabelling rule.
type RelabelChecker = relabel.Checker
