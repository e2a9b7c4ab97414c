package argocd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const (
	// MaxApplications limits the Applications of one ApplicationSet, and the parameter sets of each generator.
	MaxApplications = 10_000
	// maxBytes limits the total size of the parameters and texts of one ApplicationSet over all steps.
	maxBytes = 128 << 20
)

// Generator generates the Applications of ApplicationSets.
type Generator struct {
	// Execute executes Go templates. If nil, they are refused.
	Execute func(context.Context, helm.Texts) ([]string, error)
	// Repositories locate Git repositories in Files.
	Repositories roots.Repositories
	Files        *tree.Tree
	// Clusters are the clusters that Argo CD knows besides its own.
	Clusters []Cluster
}

// setSpec is the spec of an ApplicationSet. Generators and templates stay untyped until their templates are executed.
type setSpec struct {
	GoTemplate        bool             `json:"goTemplate"`
	GoTemplateOptions []string         `json:"goTemplateOptions"`
	Generators        []map[string]any `json:"generators"`
	Template          map[string]any   `json:"template"`
	TemplatePatch     string           `json:"templatePatch"`
}

// run generates the Applications of one ApplicationSet.
type run struct {
	*Generator
	spec  setSpec
	bytes int
}

// Applications returns the Applications of an ApplicationSet as objects. An error is a [*diag.Diagnostic] or a failure
// to read files.
func (g *Generator) Applications(ctx context.Context, set map[string]any) ([]map[string]any, error) {
	var of struct {
		Metadata Metadata `json:"metadata"`
		Spec     setSpec  `json:"spec"`
	}
	if err := convert(set, "", &of); err != nil {
		return nil, err
	}
	for i, option := range of.Spec.GoTemplateOptions {
		if !slices.Contains([]string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"},
			option) {
			return nil, problem(fmt.Sprintf("spec.goTemplateOptions[%d]", i), "use missingkey=error",
				"%.100q is not an option of Go templates", option)
		}
	}
	r := &run{Generator: g, spec: of.Spec}
	var out []map[string]any
	names := map[string]bool{}
	for i, raw := range of.Spec.Generators {
		made, err := r.applications(ctx, fmt.Sprintf("spec.generators[%d]", i), raw)
		if err != nil {
			return nil, err
		}
		for _, app := range made {
			metadata, _ := app["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			if names[name] {
				return nil, problem("spec.template.metadata.name", "use a parameter in the name that differs",
					"two Applications get the name %q", name)
			}
			names[name] = true
			metadata["namespace"] = of.Metadata.Namespace
		}
		if out = append(out, made...); len(out) > MaxApplications {
			return nil, problem("spec.generators", "split the ApplicationSet",
				"they generate more than %d Applications", MaxApplications)
		}
	}
	return out, nil
}

// applications returns the Applications of one generator.
func (r *run) applications(ctx context.Context, field string, raw map[string]any) ([]map[string]any, error) {
	generated, err := r.generate(ctx, field, raw, nil, 0)
	if err != nil {
		return nil, err
	}
	template := r.spec.Template
	if own, _ := generated.spec["template"].(map[string]any); own != nil {
		template = merge(own, template, false)
	}
	jobs := make([]job, len(generated.sets))
	patches := make([]job, len(generated.sets))
	for i, params := range generated.sets {
		jobs[i], patches[i] = job{template, params}, job{r.spec.TemplatePatch, params}
	}
	made, err := r.expand(ctx, "spec.template", jobs)
	if err != nil {
		return nil, err
	}
	texts, err := r.expand(ctx, "spec.templatePatch", patches)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(made))
	for i := range made {
		if out[i], err = application(made[i], texts[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// application makes an Application from an executed template and an executed templatePatch.
func application(template, patch any) (map[string]any, error) {
	out, _ := template.(map[string]any)
	spec, _ := out["spec"].(map[string]any)
	project := spec["project"]
	var change map[string]any
	text, _ := patch.(string)
	if err := yaml.Unmarshal([]byte(text), &change); err != nil {
		return nil, problem("spec.templatePatch", "", "its result is not a YAML patch of an Application")
	}
	out = applyPatch(out, change)
	metadata, _ := out["metadata"].(map[string]any)
	spec, _ = out["spec"].(map[string]any)
	if metadata == nil || spec == nil {
		return nil, problem("spec.template", "", "it has no metadata or no spec")
	}
	if project == nil {
		delete(spec, "project")
	} else {
		spec["project"] = project // in Argo CD, a patch cannot change it
	}
	out["apiVersion"], out["kind"] = APIVersion, ApplicationKind
	return out, nil
}

// applyPatch applies a strategic merge patch to a part of an Application. Lists are replaced.
func applyPatch(value, patch map[string]any) map[string]any {
	out := map[string]any{}
	if patch["$patch"] != "replace" {
		maps.Copy(out, value)
	}
	for key, change := range patch {
		below, isMap := change.(map[string]any)
		switch {
		case key == "$patch":
		case change == nil || isMap && below["$patch"] == "delete":
			delete(out, key)
		case isMap:
			have, _ := out[key].(map[string]any)
			out[key] = applyPatch(have, below)
		default:
			out[key] = change
		}
	}
	return out
}
