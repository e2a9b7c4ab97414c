package pipelinefile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const eachCluster = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: "m-{{ .path.basename }}"}
spec:
  forEach: clusters/*
  sources:
    - url: https://git.example.com/a.git
      ref: {branch: main}
      paths: ["{{ .path.path }}", shared]
  output:
    branch: environments/{{ .path.basename }}
    auth: {passwordFile: "tokens/{{ .path.basename }}"}
    commit: {message: "{{ .Pipeline }} at {{ (index .Sources 0).Commit | short }}"}
  operator: {labels: {cluster: "{{ .path.basename | lower | replace \"_\" \"-\" | trimPrefix \"p\" | trimSuffix \"d\" }}"}}
  rollout: {after: ["{{ index .path.segments 0 }}"]}
`

func TestExpand(t *testing.T) {
	template := one(t, eachCluster)
	made, found := template.Expand([]string{"clusters/prod", "clusters/dev", "clusters/dev"})
	if len(found) > 0 {
		t.Fatal(report(t, found))
	}
	if len(made) != 2 || made[0].Metadata.Name != "m-dev" || made[1].Metadata.Name != "m-prod" {
		t.Fatalf("made %v", names(made))
	}
	hand := strings.NewReplacer(
		`"m-{{ .path.basename }}"`, "m-prod", "  forEach: clusters/*\n", "", "{{ .path.path }}", "clusters/prod",
		`{{ .path.basename | lower | replace \"_\" \"-\" | trimPrefix \"p\" | trimSuffix \"d\" }}`, "ro",
		"{{ .path.basename }}", "prod", "{{ index .path.segments 0 }}", "clusters",
	).Replace(eachCluster)
	if diff := cmp.Diff(one(t, hand).Pipeline, made[1].Pipeline); diff != "" {
		t.Errorf("it is not what one writes by hand (-want +got):\n%s", diff)
	}
	if got, want := made[1].Origin(), "pipeline.yaml:1 (clusters/prod)"; got != want {
		t.Errorf("origin %q, want %q", got, want)
	}
	if got := template.Spec.Output.Branch; got != "environments/{{ .path.basename }}" {
		t.Errorf("the template itself was changed: %q", got)
	}
}

func TestExpandLeavesOutFoldersWithErrors(t *testing.T) {
	for name, test := range map[string]struct {
		folders []string
		made    []string
		want    []string
	}{
		"a name that Kubernetes refuses is told with line and folder": {
			[]string{"clusters/Prod", "clusters/dev"}, []string{"m-dev"},
			[]string{"pipeline.yaml:3:12: error[pipeline-invalid]: Pipeline/m-Prod: metadata.name: must consist of " +
				"lower-case letters", "(folder clusters/Prod of spec.forEach)"},
		},
		"a name that leads elsewhere": {[]string{"clusters/.."}, nil,
			[]string{`pipeline.yaml:5:3: error[pipeline-invalid]`, `the folder "clusters/.." is not a folder's name`}},
		"a name with a control code": {[]string{"clusters/a\x1b[2J"}, nil,
			[]string{`the folder "clusters/a\x1b[2J" has a name with characters that cannot be printed`}},
		"a name that is two in others": {[]string{`clusters/a\b`}, nil, []string{"or a backslash"}},
		"a branch that Git refuses": {[]string{"clusters/a..b"}, nil,
			[]string{"pipeline.yaml:11:5: error[pipeline-invalid]: Pipeline/m-a..b: spec.output.branch: is not a " +
				"name that Git allows (folder clusters/a..b"}},
	} {
		t.Run(name, func(t *testing.T) {
			made, found := one(t, eachCluster).Expand(test.folders)
			if diff := cmp.Diff(test.made, names(made)); diff != "" {
				t.Error(diff)
			}
			got := report(t, found)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %s\nwant %s", got, want)
				}
			}
		})
	}
}

// TestFoldersInEachOthersWay: a folder comes to have the output of another one.
func TestFoldersInEachOthersWay(t *testing.T) {
	deep := strings.Replace(eachCluster, "forEach: clusters/*", "forEach: clusters/*/*", 1)
	both := []string{"clusters/ap/prod", "clusters/eu/prod", "clusters/eu/dev"}
	for name, test := range map[string]struct {
		before []string
		want   []string
	}{
		"at first neither is run":            {nil, []string{"m-dev"}},
		"the one that was there stays":       {[]string{"clusters/eu/prod"}, []string{"m-dev", "m-prod"}},
		"also if it comes first in order":    {[]string{"clusters/ap/prod"}, []string{"m-prod", "m-dev"}},
		"another folder says nothing":        {[]string{"clusters/us/prod"}, []string{"m-dev"}},
		"nor has one that was refused then":  {both, []string{"m-dev"}},
		"the first of two that were at once": {[]string{"clusters/ap/prod", "clusters/eu/prod"}, []string{"m-dev"}},
	} {
		t.Run(name, func(t *testing.T) {
			template := one(t, deep)
			template.Expand(test.before)
			made, found := template.Expand(both)
			if diff := cmp.Diff(test.want, names(made)); diff != "" {
				t.Error(diff)
			}
			got := report(t, found)
			if !found.HasErrors() || !strings.Contains(got, "clusters/ap/prod") ||
				!strings.Contains(got, "clusters/eu/prod") {
				t.Errorf("the message does not name both folders: %s", got)
			}
		})
	}
}

func TestARemovedFolderClaimsNothing(t *testing.T) {
	template := one(t, strings.Replace(eachCluster, "forEach: clusters/*", "forEach: clusters/*/*", 1))
	template.Expand([]string{"clusters/ap/prod"})
	template.Expand([]string{"clusters/eu/dev"})
	if made, _ := template.Expand([]string{"clusters/ap/prod", "clusters/eu/prod"}); len(made) > 0 {
		t.Errorf("%v is run", names(made))
	}
}

func TestRolloutMayNameWhatATemplateMakes(t *testing.T) {
	const text = `
---
apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: last}
spec:
  sources: [{url: https://git.example.com/a.git, ref: {branch: main}}]
  output: {branch: environments/last}
  rollout: {after: [NAME]}
`
	for name, wrong := range map[string]bool{"m-prod": false, "n-prod": true} {
		fleet, found := Parse("pipeline.yaml", []byte(eachCluster+strings.Replace(text, "NAME", name, 1)))
		if len(found) > 0 {
			t.Fatal(report(t, found))
		}
		if got := fleetDiags(fleet, true).HasErrors(); got != wrong {
			t.Errorf("%s: wrong is %v", name, got)
		}
	}
}

func TestTemplatesHaveNamesOfTheirOwn(t *testing.T) {
	_, found := Parse("pipeline.yaml",
		[]byte(eachCluster+"---\n"+strings.Replace(eachCluster, "clusters/*", "edge/*", 1)))
	if got := report(t, found); !strings.Contains(got, "metadata.name: another pipeline has this name") {
		t.Errorf("got %s", got)
	}
}

// one parses a file with one pipeline.
func one(t *testing.T, text string) *Pipeline {
	t.Helper()
	fleet, found := Parse("pipeline.yaml", []byte(text))
	if len(found) > 0 || len(fleet) != 1 {
		t.Fatal(report(t, found))
	}
	return fleet[0]
}

func names(fleet []*Pipeline) []string {
	var out []string
	for _, p := range fleet {
		out = append(out, p.Metadata.Name)
	}
	return out
}
