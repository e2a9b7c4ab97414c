package argocd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
)

// generatorResult has the parameter sets of a generator, and its spec after templates were executed.
type generatorResult struct {
	sets []map[string]any
	spec map[string]any
}

// maxNesting limits the nesting of matrix and merge generators.
const maxNesting = 2

// generate returns the parameter sets of one generator. Its strings are templates that can use params, the parameters
// of the generator that it is combined with.
func (r *run) generate(ctx context.Context, field string, raw, params map[string]any, nesting int) (generatorResult,
	error) {
	kind, err := kindOf(field, raw)
	if err != nil {
		return generatorResult{}, err
	}
	var selector *Selector
	if raw["selector"] != nil {
		selector = &Selector{}
		if err := convert(raw["selector"], field+".selector", selector); err != nil {
			return generatorResult{}, err
		}
		if err := selector.check(field + ".selector"); err != nil {
			return generatorResult{}, err
		}
	}
	if len(params) > 0 {
		filled, err := r.expand(ctx, field, []job{{raw, params}})
		if err != nil {
			return generatorResult{}, err
		}
		raw, _ = filled[0].(map[string]any)
	}
	spec, ok := raw[kind].(map[string]any)
	if !ok && raw[kind] != nil {
		return generatorResult{}, problem(field+"."+kind, "compare it with Argo CD's reference",
			"has a value of the wrong type")
	}
	sets, err := r.generateKind(ctx, field+"."+kind, kind, spec, nesting)
	if err != nil {
		return generatorResult{}, err
	}
	if selector != nil {
		sets = slices.DeleteFunc(sets, func(set map[string]any) bool {
			labels := map[string]string{}
			flatten(set, "", labels)
			return !selector.matches(labels)
		})
	}
	if len(sets) > MaxApplications {
		return generatorResult{}, problem(field, "split the ApplicationSet", "it generates more than %d parameter sets",
			MaxApplications)
	}
	return generatorResult{sets, spec}, nil
}

// kindOf returns the kind of a generator.
func kindOf(field string, raw map[string]any) (string, error) {
	var kinds []string
	for name := range raw {
		if name != "selector" {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	switch {
	case len(kinds) == 0:
		return "", problem(field, "", "it has no generator")
	case len(kinds) > 1:
		return "", problem(field, "make each its own entry", "it has several generators: %s",
			strings.Join(kinds, ", "))
	}
	return kinds[0], nil
}

// generateKind returns the parameter sets of a generator of a kind.
func (r *run) generateKind(ctx context.Context, field, kind string, spec map[string]any,
	nesting int) ([]map[string]any, error) {
	combines := kind == "matrix" || kind == "merge"
	if combines && nesting == maxNesting {
		return nil, problem(field, "", "matrix and merge can be nested only once")
	}
	switch kind {
	case "list":
		return r.list(field, spec)
	case "clusters":
		return r.clusters(ctx, field, spec)
	case "git":
		return r.git(ctx, field, spec)
	case "matrix":
		return r.matrix(ctx, field, spec, nesting)
	case "merge":
		return r.merge(ctx, field, spec, nesting)
	case "scmProvider", "pullRequest", "clusterDecisionResource", "plugin":
		return nil, refused(
			field, "commit the Applications that it generates, or use a list, files or folders of Git, or clusters",
			"the generator %s queries a service, but agentry reads only Git", kind)
	}
	return nil, problem(field, "use list, clusters, git, matrix or merge", "there is no such generator")
}

// list returns the elements of a list generator.
func (r *run) list(field string, raw map[string]any) ([]map[string]any, error) {
	var spec struct {
		Elements     []map[string]any `json:"elements"`
		ElementsYAML string           `json:"elementsYaml"`
	}
	if err := convert(raw, field, &spec); err != nil {
		return nil, err
	}
	var out []map[string]any
	for i, element := range spec.Elements {
		if r.spec.GoTemplate {
			out = append(out, element)
			continue
		}
		set, err := flatElement(fmt.Sprintf("%s.elements[%d]", field, i), element)
		if err != nil {
			return nil, err
		}
		out = append(out, set)
	}
	var more []map[string]any
	if err := yaml.Unmarshal([]byte(spec.ElementsYAML), &more); err != nil {
		return nil, problem(field+".elementsYaml", "", "is not a YAML list of maps")
	}
	return append(out, more...), nil
}

// flatElement returns a list element with the parameter names of templates without goTemplate.
func flatElement(field string, element map[string]any) (map[string]any, error) {
	set := map[string]any{}
	for key, value := range element {
		values, isMap := value.(map[string]any)
		if key != "values" || !isMap {
			values = map[string]any{key: value}
		}
		for name, value := range values {
			text, ok := value.(string)
			if !ok {
				return nil, problem(field+"."+key, "put it in quotes, or set goTemplate",
					"without goTemplate, values must be strings")
			}
			if key == "values" && isMap {
				name = "values." + name
			}
			set[name] = text
		}
	}
	return set, nil
}

// clusters returns a parameter set for each cluster that Argo CD knows. Its own cluster has no labels, so any selector
// leaves it out.
func (r *run) clusters(ctx context.Context, field string, raw map[string]any) ([]map[string]any, error) {
	var spec struct {
		Selector Selector          `json:"selector"`
		Values   map[string]string `json:"values"`
		FlatList bool              `json:"flatList"`
	}
	if err := convert(raw, field, &spec); err != nil {
		return nil, err
	}
	if err := spec.Selector.check(field + ".selector"); err != nil {
		return nil, err
	}
	if len(r.Clusters) == 0 && !spec.Selector.isEmpty() {
		return nil, undeclared(field, "the inputs have no cluster Secret")
	}
	if i := slices.IndexFunc(r.Clusters, func(c Cluster) bool { return !c.IsKnown() }); i >= 0 {
		c := r.Clusters[i]
		return nil, undeclared(field, "cluster Secret %s (%s) is encrypted, or without name and server", c.Secret,
			c.File)
	}
	own := func(c Cluster) bool { return c.Server == InCluster }
	var out []map[string]any
	if spec.Selector.isEmpty() && !slices.ContainsFunc(r.Clusters, own) {
		out = append(out, map[string]any{"name": InClusterName, "nameNormalized": InClusterName, "server": InCluster,
			"project": ""})
	}
	for _, c := range slices.SortedFunc(slices.Values(r.Clusters), func(a, b Cluster) int {
		return cmp.Compare(a.Name, b.Name)
	}) {
		if spec.Selector.matches(c.Labels) {
			out = append(out, c.params(r.spec.GoTemplate))
		}
	}
	if err := r.values(ctx, field, spec.Values, out); err != nil {
		return nil, err
	}
	if spec.FlatList {
		all := make([]any, len(out))
		for i := range out {
			all[i] = out[i]
		}
		return []map[string]any{{"clusters": all}}, nil
	}
	return out, nil
}

// undeclared returns the error about clusters that are not known.
func undeclared(field, format string, args ...any) error {
	const hint = "declare the clusters in the inputs, or in %s: Secrets with labels and unencrypted name and server, " +
		"but without config"
	return new(diag.BuildRefused.At(field, format, args...).
		WithHint(fmt.Sprintf(hint, "the folder that spec.build.cluster of the pipeline names")).
		WithFlags(fmt.Sprintf(hint, "a folder that --set spec.build.cluster=FOLDER names (agentry import "+
			"--cluster-state writes one)")))
}

// values adds a generator's extra values to its sets. They may be templates that use the parameters of the set.
func (r *run) values(ctx context.Context, field string, values map[string]string, sets []map[string]any) error {
	if len(values) == 0 {
		return nil
	}
	of := map[string]any{}
	for key, value := range values {
		of[key] = value
	}
	jobs := make([]job, len(sets))
	for i, set := range sets {
		jobs[i] = job{of, set}
	}
	filled, err := r.expand(ctx, field+".values", jobs)
	if err != nil {
		return err
	}
	for i, set := range sets {
		made, _ := filled[i].(map[string]any)
		texts := helm.Strings{}
		for _, key := range slices.Sorted(maps.Keys(made)) {
			texts[key], _ = made[key].(string)
			if !r.spec.GoTemplate {
				set["values."+key] = made[key]
			}
		}
		if r.spec.GoTemplate {
			set["values"] = texts
		}
	}
	return nil
}
