package alloy

import (
	"strconv"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/agentry-dev/agentry/generator/internal/credential"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/internal/exporter"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// arguments adds settings to a block of a component, whose path ends in a dot or is empty. What the component does not
// have is added as well: see lacking.
func (w *values) arguments(b *syntax.Block, of *catalogue.Component, path string, all model.Map) {
	for _, p := range all {
		known := of.Fields[path+p.Key]
		if known.Kind != "block" {
			b.Set(p.Key, w.argument(known.Kind, p.Value))
			continue
		}
		items, isList := p.Value.(model.List)
		if !isList {
			items = model.List{p.Value}
		}
		for _, item := range items {
			inner := syntax.Block{Name: p.Key}
			fields, _ := item.(model.Map)
			if len(fields) > 0 && fields[0].Key == exporter.LabelKey {
				inner.Label, fields = text(fields[0].Value), fields[1:]
			}
			w.arguments(&inner, of, path+p.Key+".", fields)
			b.Add(inner)
		}
	}
}

// argument returns a value as an expression of a type of the catalogue. People write numbers as texts and texts as
// numbers, which the agent takes.
func (w *values) argument(kind string, v model.Value) syntax.Expr {
	switch v := v.(type) {
	case model.String:
		return w.scalar(kind, string(v))
	case model.Variable:
		return w.scalar(kind, string(v))
	case model.Bool:
		return w.scalar(kind, strconv.FormatBool(bool(v)))
	case model.Number:
		return w.scalar(kind, string(v))
	case model.Secret:
		return w.value("credential", v)
	case model.Identity:
		return w.value("credential", v.Secret)
	case model.Credential:
		if w.hides = true; w.redact {
			return syntax.String(redacted)
		}
		return w.argument(kind, v.Value)
	case model.List:
		var items []syntax.Expr
		for _, item := range v {
			items = append(items, w.argument(element(kind), item))
		}
		return syntax.List(items...)
	case model.Map:
		var pairs []syntax.Pair
		for _, p := range v {
			pairs = append(pairs, syntax.Pair{Key: p.Key, Value: w.argument(element(kind), p.Value)})
		}
		return syntax.Object(pairs)
	}
	return "null"
}

// element returns the type of the elements of a list or map.
func element(kind string) string {
	_, inner, _ := strings.Cut(kind, "(")
	return strings.TrimSuffix(inner, ")")
}

func (w *values) scalar(kind, text string) syntax.Expr {
	switch kind {
	case "number":
		var n float64
		if yamlv2.Unmarshal([]byte(text), &n) == nil {
			return syntax.Expr(strconv.FormatFloat(n, 'f', -1, 64))
		}
	case "bool":
		var b bool
		if yamlv2.Unmarshal([]byte(text), &b) == nil {
			return syntax.Bool(b)
		}
	case "duration":
		if d := goDuration(text); d != "" {
			text = d
		}
	}
	return syntax.String(w.conceal(text, credential.Redacted(text)))
}

// lack is an argument or a block that a component does not have.
type lack struct {
	path  string
	since string // the version that has it, or empty if none has
}

// words returns the path as it is said in a sentence.
func (l lack) words() string { return strings.ReplaceAll(l.path, ".", " ") }

// lacking returns the arguments and blocks inside a block that a version of the component does not have. The path of
// the block ends in a dot or is empty.
func lacking(of *catalogue.Component, version catalogue.Version, path string, b *syntax.Block) (out []lack) {
	has := func(name string, isBlock bool) bool {
		e, known := of.Fields[path+name]
		switch {
		case !known || (e.Kind == "block") != isBlock:
			out = append(out, lack{path + name, ""})
		case !version.Has(e.Since):
			out = append(out, lack{path + name, e.Since})
		default:
			return true
		}
		return false
	}
	for _, a := range b.Attrs {
		has(a.Name, false)
	}
	for _, inner := range b.Blocks {
		if has(inner.Name, true) {
			out = append(out, lacking(of, version, path+inner.Name+".", inner)...)
		}
	}
	return out
}

// missing returns the paths of arguments and blocks that a component requires and a block does not have. The path of
// the block ends in a dot or is empty.
func missing(of *catalogue.Component, path string, b *syntax.Block) (out []string) {
	has := map[string]bool{exporter.LabelKey: b.Label != ""}
	for _, a := range b.Attrs {
		has[a.Name] = true
	}
	for _, inner := range b.Blocks {
		has[inner.Name] = true
		out = append(out, missing(of, path+inner.Name+".", inner)...)
	}
	for _, field := range sortedKeys(of.Fields) {
		name, inside := strings.CutPrefix(field, path)
		if inside && of.Fields[field].Required && !strings.Contains(name, ".") && !has[name] {
			out = append(out, field)
		}
	}
	return out
}
