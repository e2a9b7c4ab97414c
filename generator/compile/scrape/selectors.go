package scrape

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// selectors builds the rules for selectors, and checks values that become regular expressions.
type selectors struct {
	repeated *repeated
	regexes  *RelabelChecker
	found    *findings
}

// labels returns the keep and drop rules for a target selector over the labels of a service, pod or ingress
// (role). Values are regular expressions, as with the operator.
func (s selectors) labels(role, path string, sel *metav1.LabelSelector) []*model.Relabel {
	out := make([]*model.Relabel, 0, len(sel.MatchLabels)+len(sel.MatchExpressions))
	for _, key := range sortedKeys(sel.MatchLabels) {
		value := sel.MatchLabels[key]
		s.value(value, path, ".matchLabels[", key, "]")
		out = append(out, &model.Relabel{SourceLabels: s.repeated.label(role, key).value, Regex: model.Present(value),
			Action: "keep"})
	}
	for i, e := range sel.MatchExpressions {
		if r := s.expression(role, path+".matchExpressions["+strconv.Itoa(i)+"]", e); r != nil {
			out = append(out, r)
		}
	}
	return out
}

// badSelector reports the parts of a selector that Kubernetes would refuse, in the order of their names.
func (f *findings) badSelector(path string, sel *metav1.LabelSelector) {
	check := func(at string, part *metav1.LabelSelector) {
		if _, err := metav1.LabelSelectorAsSelector(part); err != nil {
			f.Add(diag.InvalidSelector.At(at, "is not valid: %v", err))
		}
	}
	for _, key := range sortedKeys(sel.MatchLabels) {
		check(path+".matchLabels["+key+"]",
			&metav1.LabelSelector{MatchLabels: map[string]string{key: sel.MatchLabels[key]}})
	}
	for i := range sel.MatchExpressions {
		check(path+".matchExpressions["+strconv.Itoa(i)+"]",
			&metav1.LabelSelector{MatchExpressions: sel.MatchExpressions[i : i+1]})
	}
}

// value checks a value that becomes a regular expression; path are the parts of its path. A value that no label can
// have is rendered as it is, as with the operator (reference defect A15).
func (s selectors) value(value string, path ...string) {
	if plainLabelValue(value) {
		return
	}
	at := strings.Join(path, "")
	if err := s.regexes.Compile(value); err != nil {
		s.found.Add(diag.InvalidSelector.At(at, "%q is used as a regular expression: %v", value, err))
		return
	}
	s.found.Add(diag.InvalidSelector.At(at, "%q is not a label value: it is used as a regular expression", value).
		As(diag.Warning))
}

// plainLabelValue reports whether a value has only characters of label values. Such a value is always a valid
// regular expression.
func plainLabelValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isLabelByte(c) && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func (s selectors) expression(role, path string, e metav1.LabelSelectorRequirement) *model.Relabel {
	label := s.repeated.label(role, e.Key)
	r := &model.Relabel{Action: "keep"}
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			s.found.Add(diag.InvalidSelector.At(path+".values", "operator %s needs at least one value", e.Operator))
			return nil
		}
		for n, v := range e.Values {
			s.value(v, path, ".values[", strconv.Itoa(n), "]")
		}
		r.SourceLabels = label.value
		r.Regex = model.Present(strings.Join(e.Values, "|"))
		if e.Operator == metav1.LabelSelectorOpNotIn {
			r.Action = "drop"
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		r.SourceLabels = label.present
		r.Regex = model.Present("true")
		if e.Operator == metav1.LabelSelectorOpDoesNotExist {
			r.Action = "drop"
		}
	default:
		s.found.Add(diag.InvalidSelector.At(path+".operator",
			"%q is not an operator: use In, NotIn, Exists or DoesNotExist", e.Operator))
		return nil
	}
	return r
}

// checkPort checks the name of a port, which becomes a regular expression. label is the meta label that must match it.
func (j *job) checkPort(label, port, value string) {
	field := "port"
	if port == "" {
		field = "targetPort"
	}
	if !plainLabelValue(value) {
		if err := j.relabel.Compile(value); err != nil {
			j.found.Add(diag.InvalidRelabeling.At(j.path+field, "%q is used as a regular expression: %v", value, err))
		}
		return
	}
	if label == portNumber || strings.Contains(value, ".") { // a dot stands for any character
		return
	}
	if d, bad := checkPortName(value, strings.HasPrefix(label, "pod_")); bad {
		d.Path = j.path + field
		j.found.Add(d)
	}
}

// portNumber is the meta label with the number of a port of a container.
const portNumber = "pod_container_port_number"

// wantedPort returns the port of targets that is wanted, and the meta label that has it. The value is empty if any port
// is wanted. portLabel is the meta label with the name of the port.
func wantedPort(portLabel, port string, target *intstr.IntOrString) (label, value string) {
	switch {
	case port != "":
		return portLabel, port
	case target == nil:
	case target.Type == intstr.String && target.StrVal != "":
		return "pod_container_port_name", target.StrVal
	case target.Type == intstr.Int && target.IntVal != 0:
		return portNumber, strconv.Itoa(int(target.IntVal))
	}
	return "", ""
}
