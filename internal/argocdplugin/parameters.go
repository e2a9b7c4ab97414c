// Package argocdplugin is what Argo CD and its config management plugins tell each other: the parameters of an
// Application, which are fields of a pipeline, the parameters that it may have, and where its files are.
// https://argo-cd.readthedocs.io/en/stable/operator-manual/config-management-plugins/
package argocdplugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/inputs"
)

// The parameters that are not fields of a pipeline.
const (
	paramBuild    = "build"
	paramPipeline = "pipeline"
)

// Parameters are those of an Application.
type Parameters struct {
	// Set are changes of fields of the pipeline, as in --set.
	Set []string
	// Build is how the files are read. Empty: as the pipeline says.
	Build string
	// Pipeline is the only pipeline of the pipeline file that is rendered. Empty: all.
	Pipeline string
}

// parameter is one of spec.source.plugin.parameters.
type parameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string"`
	Array  []string          `json:"array"`
	Map    map[string]string `json:"map"`
}

// Parse reads the parameters of an Application, as they are in ARGOCD_APP_PARAMETERS.
func Parse(text string) (out Parameters, err error) {
	if text == "" {
		return out, nil
	}
	var list []parameter
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return out, errors.New("ARGOCD_APP_PARAMETERS is not a list of parameters")
	}
	for _, p := range list {
		switch {
		case p.Name == paramPipeline && p.String != nil:
			out.Pipeline = *p.String
		case p.Name == paramBuild && p.String != nil:
			out.Build = *p.String
			if !slices.Contains(inputs.Modes(), inputs.Mode(out.Build)) {
				return out, fmt.Errorf("parameter build: %q is not one of %s", out.Build,
					diag.Alternatives(words(inputs.Modes())))
			}
		case !strings.HasPrefix(p.Name, "spec.") || strings.ContainsAny(p.Name, "=,{}"):
			return out, fmt.Errorf("parameter %q is not a field of a pipeline, such as spec.runtime", p.Name)
		default:
			out.Set = append(out.Set, p.changes()...)
		}
	}
	return out, nil
}

// changes returns the parameter as changes of a pipeline.
func (p parameter) changes() (out []string) {
	if p.String != nil {
		out = append(out, p.Name+"="+escaped(*p.String))
	}
	if p.Array != nil {
		items := make([]string, len(p.Array))
		for i, item := range p.Array {
			items[i] = escaped(item)
		}
		out = append(out, p.Name+"={"+strings.Join(items, ",")+"}")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Map)) {
		out = append(out, p.Name+"."+strings.ReplaceAll(escaped(key), ".", `\.`)+"="+escaped(p.Map[key]))
	}
	return out
}

// escaped returns a text that --set takes as it is.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, "{", `\{`, "}", `\}`, "=", `\=`, "[", `\[`, "]", `\]`).Replace(text)
}

// Announcement describes a parameter to the page of Argo CD, with its default.
type Announcement struct {
	Name           string            `json:"name"`
	Tooltip        string            `json:"tooltip,omitempty"`
	ItemType       string            `json:"itemType,omitempty"`
	CollectionType string            `json:"collectionType,omitempty"`
	String         string            `json:"string,omitempty"`
	Array          []string          `json:"array,omitempty"`
	Map            map[string]string `json:"map,omitempty"`
}

// maxDepth limits the announced fields to what fits a page. Deeper ones can be set all the same.
const maxDepth = 2

// Announcements returns the parameters that an Application may have: fields of a pipeline that are words or lists of
// words, with what the pipeline says. Fields that isOut names, of the specification, are left out with what is below.
func Announcements(spec *pipeline.Spec, isOut func(field string) bool) ([]Announcement, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	out := []Announcement{
		{Name: paramBuild, Tooltip: diag.Alternatives(words(inputs.Modes())), String: string(inputs.Auto)},
		{Name: paramPipeline, Tooltip: "only the pipeline of this name in the pipeline file"},
	}
	for _, f := range pipeline.Fields() {
		if len(f.Path) <= maxDepth && !isOut(f.Path[0]) {
			out = append(out, announce(f, lookup(values, f.Path)))
		}
	}
	return out, nil
}

func announce(f pipeline.Field, value any) Announcement {
	a := Announcement{Name: "spec." + strings.Join(f.Path, ".")}
	if len(f.Words) > 0 {
		a.Tooltip = diag.Alternatives(f.Words)
	}
	switch f.Type {
	case "array":
		a.CollectionType = "array"
		list, _ := value.([]any)
		for _, item := range list {
			a.Array = append(a.Array, fmt.Sprint(item))
		}
	case "object":
		a.CollectionType = "map"
		fields, _ := value.(map[string]any)
		for key, item := range fields {
			if a.Map == nil {
				a.Map = map[string]string{}
			}
			a.Map[key] = fmt.Sprint(item)
		}
	default:
		if f.Type != "string" {
			a.ItemType = f.Type
		}
		if value != nil {
			a.String = fmt.Sprint(value)
		}
	}
	return a
}

func lookup(value any, path []string) any {
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

func words[T ~string](list []T) (out []string) {
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}
