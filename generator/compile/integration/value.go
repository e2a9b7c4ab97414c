package integration

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
)

// checker checks and converts one integration.
type checker struct {
	in       Input
	typ      *Type // nil for an unknown integration
	findings diag.List
	literals []string // see Checked.Literals
}

func (k *checker) report(s diag.Severity, code diag.Code, path, hint, format string, args ...any) {
	k.findings = append(k.findings,
		code.At(path, format, args...).As(s).WithHint(hint))
}

// refuse reports what the catalogue's agent refuses: a warning if the pods may run another agent.
func (k *checker) refuse(code diag.Code, path, hint, format string, args ...any) {
	severity := diag.Error
	if !k.in.Strict {
		severity = diag.Warning
	}
	k.report(severity, code, path, hint, format, args...)
	if k.in.Strict {
		k.relateAgent()
	}
}

// relateAgent relates the last finding to the GrafanaAgent, whose setting is involved.
func (k *checker) relateAgent() {
	if k.in.Agent != (diag.Object{}) {
		k.findings[len(k.findings)-1].Related = []diag.Object{k.in.Agent}
	}
}

// wrong reports a value that the catalogue's agent refuses.
func (k *checker) wrong(path, hint, format string, args ...any) {
	k.refuse(diag.InvalidIntegration, path, hint, format, args...)
}

// warn reports a value that breaks only this integration.
func (k *checker) warn(path, hint, format string, args ...any) {
	k.report(diag.Warning, diag.InvalidIntegration, path, hint, format, args...)
}

// value converts a value and checks it against its field. The field is nil if any value is accepted.
func (k *checker) value(n *node, v any, path string) model.Value {
	switch v := v.(type) {
	case map[string]any:
		if n != nil && n.kind != objectKind && n.kind != mapKind && n.kind != anyKind {
			k.mismatch(n, v, path)
			n = nil
		}
		return k.mapping(n, v, path)
	case []any:
		if n != nil && n.kind != listKind && n.kind != anyKind {
			k.mismatch(n, v, path)
			n = nil
		}
		return k.list(n, v, path)
	}
	return k.scalar(n, v, path)
}

func (k *checker) list(n *node, list []any, path string) model.Value {
	var item *node
	if n != nil {
		item = n.item
	}
	out := model.List{}
	for i, v := range list {
		if v != nil {
			out = append(out, k.value(item, v, path+"["+strconv.Itoa(i)+"]"))
		}
	}
	return out
}

// mapping converts a mapping: an object, a map, or an unchecked value.
func (k *checker) mapping(n *node, m map[string]any, path string) model.Map {
	out := model.Map{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v := m[key]
		if v == nil {
			continue
		}
		at := child(path, key)
		out.Set(key, k.value(k.member(n, key, at), v, at))
	}
	if n == nil || n.kind != objectKind {
		return out
	}
	o := object{k, n, m, path}
	k.required(o)
	if n.rule != nil {
		n.rule(o)
	}
	return out
}

// member returns the field for a key of a mapping, or nil if any value is accepted.
func (k *checker) member(n *node, key, path string) *node {
	switch {
	case n == nil:
		return nil
	case n.kind == mapKind && n.IntKeys:
		k.wrong(path, "put it into a file, and name that in config_file",
			"the agent wants a number as the key, and in what comes from Kubernetes every key is a text")
		return n.item
	case n.kind == mapKind:
		return n.item
	case n.kind != objectKind || n.free():
		return nil
	}
	field := n.field(key)
	if field == nil && !(k.typ.Unchecked && n == k.typ.config) {
		hint := didYouMean(key, n.names)
		if n.Open {
			k.report(diag.Warning, diag.UnknownIntegrationField, path, hint,
				"%s is not a field that the agent knows: it ignores it", key)
		} else {
			k.refuse(diag.UnknownIntegrationField, path, hint, "%s is not a field of %s that the agent knows", key,
				k.typ.Name)
		}
	}
	return field
}

// required reports required fields that are missing.
func (k *checker) required(o object) {
	for _, f := range o.node.fields {
		if f.Required == "" || o.given(f.Name) || f.Env != "" && k.in.defines(f.Env) {
			continue
		}
		path, what := o.at(f.Name), f.Name+" is missing"
		if !o.has(f.Name) {
			path = o.path
		} else {
			what = f.Name + " is empty"
		}
		hint := ""
		if f.Env != "" {
			hint = "or have the agent's container define " + f.Env
		}
		if f.Required == "start" {
			k.wrong(path, hint, "%s: the agent would not start", what)
		} else {
			k.warn(path, hint, "%s: the integration would have no metrics", what)
		}
	}
}

// mismatch reports a value of the wrong type.
func (k *checker) mismatch(n *node, v any, path string) {
	hint := ""
	switch {
	case n.kind == listKind && !isCollection(v):
		hint = "write it as a list of one item"
	case needsNoQuotes(n.kind, v):
		hint = "write it without quotes"
	}
	k.wrong(path, hint, "is a %s, and the agent wants a %s", typeOf(v), wanted(n))
}

// wanted describes the values of a field, for messages.
func wanted(n *node) string {
	if n.kind == listKind {
		switch n.item.kind {
		case intKind, floatKind:
			return "list of numbers"
		case objectKind, mapKind:
			return "list of mappings"
		case stringKind, secretKind, regexKind, urlKind:
			return "list of texts"
		}
	}
	return n.kind.String()
}

func isCollection(v any) bool { return typeOf(v) == "list" || typeOf(v) == "mapping" }

// needsNoQuotes reports whether the text would be valid without its quotes.
func needsNoQuotes(k kind, v any) bool {
	text, ok := v.(string)
	switch k {
	case intKind, floatKind:
		_, err := strconv.ParseFloat(text, 64)
		return ok && err == nil
	case boolKind:
		return ok && slices.Contains([]string{"true", "false", "yes", "no", "on", "off"}, strings.ToLower(text))
	}
	return false
}

// typeOf describes a value, for messages.
func typeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "mapping"
	case []any:
		return "list"
	case string:
		return "text"
	case bool:
		return "boolean"
	}
	return "number"
}

// number returns the exact spelling of a number. It returns false for anything else, and for numbers that YAML
// parsers do not read as numbers.
func number(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return v.String(), err == nil
	case int64:
		return strconv.FormatInt(v, 10), true
	case int:
		return strconv.Itoa(v), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return "", false
}

// child returns the path of a key in Kubernetes' notation.
func child(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]/ ") {
		return path + "[" + key + "]"
	}
	return path + "." + key
}
