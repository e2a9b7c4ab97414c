package argocd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// flatten writes the values of nested maps and lists into out as strings, with dotted names such as a.b.0.
func flatten(value any, name string, out map[string]string) {
	below := func(key string) string {
		if name == "" {
			return key
		}
		return name + "." + key
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			flatten(inner, below(key), out)
		}
	case helm.Strings:
		for key, inner := range value {
			out[below(key)] = inner
		}
	case []any:
		for i, inner := range value {
			flatten(inner, below(fmt.Sprint(i)), out)
		}
	default:
		out[name] = fmt.Sprint(value)
	}
}

// merge returns a deep merge of two maps. If both have a non-empty value, into's is kept, or with prefer other's.
func merge(into, other map[string]any, prefer bool) map[string]any {
	out := maps.Clone(into)
	for key, value := range other {
		have, found := out[key]
		a, isMap := have.(map[string]any)
		b, bothMaps := value.(map[string]any)
		c, isStrings := have.(helm.Strings)
		d, bothStrings := value.(helm.Strings)
		switch {
		case isMap && bothMaps:
			out[key] = merge(a, b, prefer)
		case isStrings && bothStrings && prefer:
			out[key] = mergeStrings(c, d)
		case isStrings && bothStrings:
			out[key] = mergeStrings(d, c)
		case !found || isEmpty(have) || prefer && !isEmpty(value):
			out[key] = value
		}
	}
	return out
}

// mergeStrings merges two maps; values of over take precedence.
func mergeStrings(below, over helm.Strings) helm.Strings {
	out := maps.Clone(below)
	maps.Copy(out, over)
	return out
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	case helm.Strings:
		return len(value) == 0
	}
	return false
}

// Selector selects clusters by labels, or parameter sets by parameters. Unlike labels, parameters can have any value.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `json:"key"`
		Operator string   `json:"operator"`
		Values   []string `json:"values"`
	} `json:"matchExpressions"`
}

func (s *Selector) isEmpty() bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }

// check refuses the selectors that Kubernetes refuses.
func (s *Selector) check(field string) error {
	for i, e := range s.MatchExpressions {
		at := fmt.Sprintf("%s.matchExpressions[%d]", field, i)
		isSet := e.Operator == "In" || e.Operator == "NotIn"
		switch {
		case !isSet && e.Operator != "Exists" && e.Operator != "DoesNotExist":
			return problem(at+".operator", "use In, NotIn, Exists or DoesNotExist", "%q is not an operator", e.Operator)
		case isSet && len(e.Values) == 0:
			return problem(at+".values", "", "%s needs values", e.Operator)
		}
	}
	return nil
}

func (s *Selector) matches(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if have, found := labels[key]; !found || have != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		have, found := labels[e.Key]
		is := found
		if e.Operator == "In" || e.Operator == "NotIn" {
			is = found && slices.Contains(e.Values, have)
		}
		if is != (e.Operator == "In" || e.Operator == "Exists") {
			return false
		}
	}
	return true
}
