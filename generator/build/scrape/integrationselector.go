package scrape

import (
	"regexp"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// Selectors over MetricsIntegrations become relabelling rules with the meaning that they have in Kubernetes:
// equality needs the label to exist, and values are not regular expressions.

// present is the value of the labels that say that an object has a label.
const present = "true"

// anyOf returns a regular expression that matches one of the texts, in their order.
func anyOf(texts ...string) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = regexp.QuoteMeta(s)
	}
	return strings.Join(quoted, "|")
}

// group puts an expression in brackets if it has several alternatives.
func group(expr string, alternatives int) string {
	if alternatives == 1 {
		return expr
	}
	return "(?:" + expr + ")"
}

// integrationNamespaces returns the rule that keeps the targets of the namespaces that a monitor selects, or
// nil for all. If the GrafanaAgent ignores its selector (ignored), this is its own namespace.
func integrationNamespaces(found *findings, own string, sel monitoringv1.NamespaceSelector, ignored bool) *model.Relabel {
	names := sel.MatchNames
	switch {
	case ignored:
		names = []string{own}
	case sel.Any:
		return nil
	case len(names) == 0:
		names = []string{own}
	}
	for i, name := range sel.MatchNames {
		if len(validation.IsDNS1123Label(name)) > 0 {
			found.report(diag.Error, diag.InvalidSelector, "spec.namespaceSelector.matchNames["+strconv.Itoa(i)+"]", "%q is not the name of a namespace", name)
		}
	}
	return &model.Relabel{SourceLabels: []string{crNamespace}, Regex: model.Present(anyOf(names...)), Action: "keep"}
}

// integrationSelector returns the rules that keep the targets of the selected MetricsIntegrations.
func integrationSelector(found *findings, path string, sel *metav1.LabelSelector) (out []*model.Relabel) {
	add := func(path, key string, operator selection.Operator, values []string) {
		r, err := requirement(key, operator, values)
		if err != nil {
			found.report(diag.Error, diag.InvalidSelector, path, "%v", err)
			return
		}
		out = append(out, r)
	}
	for _, key := range sortedKeys(sel.MatchLabels) {
		add(path+".matchLabels["+key+"]", key, selection.In, []string{sel.MatchLabels[key]})
	}
	for i, e := range sel.MatchExpressions {
		at := path + ".matchExpressions[" + strconv.Itoa(i) + "]"
		operator, known := map[metav1.LabelSelectorOperator]selection.Operator{
			metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
			metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
		}[e.Operator]
		if !known {
			found.report(diag.Error, diag.InvalidSelector, at+".operator", "%q is not an operator: use In, NotIn, Exists or DoesNotExist", e.Operator)
			continue
		}
		add(at, e.Key, operator, e.Values)
	}
	return out
}

func requirement(key string, operator selection.Operator, values []string) (*model.Relabel, error) {
	if _, err := labels.NewRequirement(key, operator, values); err != nil {
		return nil, err
	}
	label := sanitize(key)
	r := &model.Relabel{SourceLabels: []string{crLabelPresent + label}, Regex: model.Present(present), Action: "keep"}
	if operator == selection.In || operator == selection.NotIn {
		// Labels contain no semicolon, so it can separate the two.
		r.SourceLabels = []string{crLabel + label, crLabelPresent + label}
		r.Regex = model.Present(group(anyOf(values...), len(values)) + ";" + present)
	}
	if operator == selection.NotIn || operator == selection.DoesNotExist {
		r.Action = "drop"
	}
	return r, nil
}
