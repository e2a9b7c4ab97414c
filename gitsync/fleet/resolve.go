package fleet

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// entry is the configuration of one pipeline.
type entry struct {
	def     *Definition
	refused string // why it may not run beside the others
	owned   bool   // by this replica
}

// resolve decides which definitions may run, and which of them on this replica. A passive one runs only the
// patterns, so that it knows their pipelines.
func resolve(defs []*Definition, active bool) []entry {
	refused := conflicts(defs)
	out := make([]entry, 0, len(defs))
	for _, def := range defs {
		out = append(out, entry{def, refused[def.Metadata.Name], active || def.Expand != nil})
	}
	return out
}

// effective adds the pipelines that were made of folders to the definitions, each after its pattern. If
// several have one name, the first counts and the others are reported.
func effective(defs []*Definition, known map[string]*runner) (all []*Definition, doubles diag.List) {
	origins := map[string]string{}
	add := func(def *Definition) {
		name := def.Metadata.Name
		if origin, ok := origins[name]; ok {
			doubles = append(doubles, diag.Diagnostic{
				Severity: diag.Error, Code: diag.PipelineConflict, File: def.Origin,
				Message: fmt.Sprintf("pipeline %s is defined by %s already, which runs", name, origin),
			})
			return
		}
		origins[name] = def.Origin
		all = append(all, def)
	}
	for _, def := range defs {
		add(def)
		pattern := known[def.Metadata.Name]
		if def.Expand == nil || pattern == nil {
			continue
		}
		for _, child := range pattern.children {
			if def.Spec.Suspend && !child.Spec.Suspend {
				suspended := *child
				suspended.Spec.Suspend = true
				child = &suspended
			}
			add(child)
		}
	}
	return all, doubles
}

func pointers(defs []Definition) []*Definition {
	out := make([]*Definition, len(defs))
	for i := range defs {
		out[i] = new(defs[i])
	}
	return out
}

// conflicts returns why pipelines cannot run: they write to the place of an earlier one, or wait for each other.
func conflicts(defs []*Definition) map[string]string {
	var writers []*Definition
	var outputs []*pipeline.Pipeline
	after := map[string][]string{}
	for _, def := range defs {
		if def.Expand == nil {
			writers, outputs = append(writers, def), append(outputs, &def.Pipeline)
			after[def.Metadata.Name] = def.Spec.Rollout.After
		}
	}
	refused := map[string]string{}
	for _, o := range pipeline.Overlaps(outputs) { // the second ones come in order
		first, second := writers[o.First], writers[o.Second].Metadata.Name
		if refused[first.Metadata.Name] != "" || refused[second] != "" {
			continue
		}
		what := "place"
		if o.SameArtifact {
			what = "artifact"
		}
		refused[second] = fmt.Sprintf("writes to the same %s as pipeline %s of %s, which comes first and runs", what,
			first.Metadata.Name, first.Origin)
	}
	for name, others := range after {
		if len(others) == 0 {
			continue
		}
		if found := circle(name, func(n string) []string { return after[n] }); found != nil {
			refused[name] = "rollout.after goes in a circle: " + strings.Join(found, ", ")
		}
	}
	return refused
}

// circle returns the pipelines that wait for each other, beginning and ending with the given one.
func circle(name string, after func(string) []string) []string {
	seen := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		for _, next := range after(path[len(path)-1]) {
			if next == name {
				return append(path, name)
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if found := walk(append(path, next)); found != nil {
				return found
			}
		}
		return nil
	}
	return walk([]string{name})
}
