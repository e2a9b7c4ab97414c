package exporter

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

// Arguments holds the arguments of a component.
type Arguments struct {
	// Values are arguments and blocks by their names. A list of maps is several blocks of one name, and the key
	// "<label>" of a map is the label of its block.
	Values model.Map
	// Texts are arguments that are YAML: the configuration of an exporter, in which variables are still to be expanded.
	Texts []Text
	// Problems are about fields of the configuration, or about all of it.
	Problems diag.List
}

// Text is an argument that is YAML.
type Text struct{ Name, YAML string }

// LabelKey is the key of the label of a block.
const LabelKey = "<label>"

// common are the fields that are not about the exporter, but about its targets and where its samples and lines go.
var common = []string{"instance", "autoscrape", "extra_labels", "logs_instance", "traces_instance"}

// arguments builds the arguments of a component.
type arguments struct {
	*Kind
	Arguments
	component *catalogue.Component
	redact    bool
	field     string // the field that is being converted
}

// Arguments returns the arguments of the component for a configuration. With redact, texts are shown without
// credentials.
func (k *Kind) Arguments(config model.Map, redact bool) Arguments {
	a := &arguments{Kind: k, component: catalogue.Get(k.Component), redact: redact}
	for _, p := range config {
		a.field = p.Key
		switch why, ignored := k.ignored[p.Key]; {
		case ignored:
			a.say(diag.Warning, "", "", "has no effect: %s", why)
		case k.refused[p.Key] != "":
			a.say(diag.Error, "", k.refused[p.Key], "Alloy's %s has nothing like it", k.Component)
		case k.convert[p.Key] != nil:
			k.convert[p.Key](a, p.Value)
		case slices.Contains(common, p.Key):
		default:
			a.set(a.nameOf(p.Key), a.renamed(p.Key, p.Value))
		}
	}
	for _, d := range k.defaults {
		if get(a.Values, d.Key) == nil {
			a.set(d.Key, d.Value)
		}
	}
	return a.Arguments
}

// Field returns the field of a configuration that became an argument, or "" if none is known.
func (k *Kind) Field(argument string) string {
	for field, name := range k.names {
		if name == argument {
			return field
		}
	}
	return argument
}

func (a *arguments) nameOf(field string) string {
	if name := a.names[field]; name != "" {
		return name
	}
	return field
}

// renamed returns a value in which the fields of a block have the names of its arguments.
func (a *arguments) renamed(path string, v model.Value) model.Value {
	m, is := v.(model.Map)
	if !is {
		return v
	}
	out := make(model.Map, len(m))
	for i, p := range m {
		out[i] = model.Pair{Key: p.Key, Value: a.renamed(path+"."+p.Key, p.Value)}
		if name := a.names[path+"."+p.Key]; name != "" {
			out[i].Key = name
		}
	}
	return out
}

func (a *arguments) say(s diag.Severity, below, hint, format string, args ...any) {
	code := diag.NotInRuntime
	if s != diag.Error {
		code = diag.RuntimeDiffers
	}
	a.Problems.Add(code.At(a.field+below, format, args...).As(s).WithHint(hint))
}

// set sets an argument by its path: its name, or the names of its block and its own.
func (a *arguments) set(path string, v model.Value) {
	block, name := split(path)
	v = a.fitting(path, v)
	if block == "" {
		a.Values.Set(name, v)
		return
	}
	for i := range a.Values {
		if inner, is := a.Values[i].Value.(model.Map); is && a.Values[i].Key == block {
			inner.Set(name, v)
			a.Values[i].Value = inner
			return
		}
	}
	a.Values.Set(block, model.Map{{Key: name, Value: v}})
}

// split splits the path of an argument. Names of blocks can have a dot, names of arguments cannot.
func split(path string) (block, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// get returns an argument by its path, or nil.
func get(values model.Map, path string) model.Value {
	block, name := split(path)
	if block == "" {
		return values.Get(name)
	}
	inner, _ := values.Get(block).(model.Map)
	return inner.Get(name)
}

// fitting returns a value as an argument wants it: lists that the agent reads from a text with commas, and durations
// that it reads as nanoseconds.
func (a *arguments) fitting(path string, v model.Value) model.Value {
	if a.component == nil {
		return v
	}
	kind := a.component.Fields[path].Kind
	switch v := v.(type) {
	case model.Map:
		if kind != "block" {
			return v
		}
		out := make(model.Map, len(v))
		for i, p := range v {
			out[i] = model.Pair{Key: p.Key, Value: a.fitting(path+"."+p.Key, p.Value)}
		}
		return out
	case model.List:
		if kind != "block" {
			return v
		}
		out := make(model.List, len(v))
		for i, item := range v {
			out[i] = a.fitting(path, item)
		}
		return out
	case model.String:
		if strings.HasPrefix(kind, "list(") {
			return a.items(string(v))
		}
	case model.Number:
		if kind == "duration" && v != "0" {
			return model.String(v + "ns")
		}
	case model.Variable:
		if kind == "bool" || kind == "duration" {
			a.say(diag.Error, "", "write what it stands for in place of the variable",
				"Alloy does not take the text of a variable for a %s", kind)
		}
	}
	return v
}

// items returns the items of a text with commas.
func (a *arguments) items(text string) model.List {
	if refs, _ := expand.References(text); len(refs) > 0 {
		a.say(diag.Error, "", "write the list", "is a list in Alloy, which a variable cannot be")
	}
	out := model.List{}
	for _, item := range strings.Split(text, ",") {
		if item != "" {
			out = append(out, model.String(item))
		}
	}
	return out
}
