package pipeline_test

import (
	"slices"
	"testing"

	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/tenancy"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// TestTenancyIsChecked: each invalid field of tenancy is named, and has a hint where it can be written otherwise.
func TestTenancyIsChecked(t *testing.T) {
	t.Parallel()
	folders := "teams/{namespace}/**"
	for name, c := range map[string]struct {
		tenancy *pipeline.Tenancy
		tenant  string
		wrong   []string
	}{
		"none":               {nil, "", nil},
		"folders":            {&pipeline.Tenancy{Folders: folders}, "", nil},
		"a source":           {nil, "shop", nil},
		"a source and rules": {&pipeline.Tenancy{Rules: []tenancy.Rule{{Files: true}}}, "shop", nil},
		"neither":            {&pipeline.Tenancy{}, "", []string{"spec.tenancy.folders"}},
		"not a pattern":      {&pipeline.Tenancy{Folders: "teams/**"}, "", []string{"spec.tenancy.folders"}},
		"not a namespace":    {nil, "A_b", []string{"spec.sources[0].tenant"}},
		"a URL without a host": {&pipeline.Tenancy{Folders: folders,
			Rules: []tenancy.Rule{{}, {URLs: []string{"https://a/", "https://mimir*"}}}}, "",
			[]string{"spec.tenancy.rules[1].urls[1]"}},
		"an empty item": {&pipeline.Tenancy{Folders: folders, Rules: []tenancy.Rule{{Agents: []string{""}}}},
			"", []string{"spec.tenancy.rules[0].agents"}},
		"an empty Secret and URL": {&pipeline.Tenancy{Folders: folders,
			Rules: []tenancy.Rule{{Secrets: []string{""}, URLs: []string{""}}}}, "",
			[]string{"spec.tenancy.rules[0].urls", "spec.tenancy.rules[0].secrets"}},
	} {
		p := pipeline.Pipeline{APIVersion: pipeline.APIVersion, Kind: pipeline.Kind,
			Metadata: pipeline.Metadata{Name: "x"}, Spec: pipeline.Spec{
				Tenancy: c.tenancy, Sources: []pipeline.Source{{URL: "https://git.example.com/a.git",
					Ref: pipeline.Ref{Branch: "main"}, Tenant: c.tenant}},
				Output: pipeline.Output{Branch: "env"}}}
		p.Default()
		var wrong []string
		for _, problem := range p.Validate() {
			wrong = append(wrong, problem.Path)
		}
		if !slices.Equal(wrong, c.wrong) {
			t.Errorf("%s: %q instead of %q", name, wrong, c.wrong)
		}
	}
}

// TestIgnoreIsChecked: a rule needs paths and a reason.
func TestIgnoreIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule  ignore.Rule
		wrong []string
	}{
		"folders and files": {ignore.Rule{Paths: []string{"apps/legacy", "*/a/**/b.yaml"}, Reason: "why"}, nil},
		"nothing":           {ignore.Rule{}, []string{"spec.ignore[0].paths", "spec.ignore[0].reason"}},
		"a blank reason":    {ignore.Rule{Paths: []string{"a"}, Reason: " "}, []string{"spec.ignore[0].reason"}},
		"an absolute path": {ignore.Rule{Paths: []string{"a", "/b"}, Reason: "why"},
			[]string{"spec.ignore[0].paths[1]"}},
		"a path that leads up": {ignore.Rule{Paths: []string{"../a"}, Reason: "why"},
			[]string{"spec.ignore[0].paths[0]"}},
		"part of a name": {ignore.Rule{Paths: []string{"team-*"}, Reason: "why"}, []string{"spec.ignore[0].paths[0]"}},
		"an empty path":  {ignore.Rule{Paths: []string{""}, Reason: "why"}, []string{"spec.ignore[0].paths[0]"}},
	} {
		p := pipeline.Pipeline{APIVersion: pipeline.APIVersion, Kind: pipeline.Kind,
			Metadata: pipeline.Metadata{Name: "x"}, Spec: pipeline.Spec{Ignore: ignore.Rules{c.rule},
				Sources: []pipeline.Source{{URL: "https://git.example.com/a.git", Ref: pipeline.Ref{Branch: "main"}}},
				Output:  pipeline.Output{Branch: "env"}}}
		p.Default()
		var wrong []string
		for _, problem := range p.Validate() {
			wrong = append(wrong, problem.Path)
		}
		if !slices.Equal(wrong, c.wrong) {
			t.Errorf("%s: %q instead of %q", name, wrong, c.wrong)
		}
	}
}
