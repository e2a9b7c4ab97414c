package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/helm"
	"github.com/agentry-dev/agentry/inputs/helm/helmworker"
	"github.com/agentry-dev/agentry/inputs/roots"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

func TestMain(m *testing.M) {
	testworker.Main(m, func(in io.Reader, out io.Writer) int { return helmworker.Serve(in, out, helm.Limits{}) })
}

func newWorkers(t *testing.T) *helm.Workers {
	t.Helper()
	w := helm.NewWorkers(helm.Options{Command: testworker.Command(), Env: testworker.Env()})
	t.Cleanup(w.Close)
	return w
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

// files are those of a txtar.
func files(text string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		out[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return out
}

const gitFiles = `
-- .github/workflows/a.yaml --
on: push
-- apps/shop/kustomization.yaml --
resources: [a.yaml]
-- apps/Pay_ment/Chart.yaml --
name: pay
-- apps/legacy/a.yaml --
-- apps/file.yaml --
-- config/dev/config.json --
{"cluster": {"name": "dev", "size": 123456789, "zones": ["a", "b"]}, "team": "x"}
-- config/prod/eu/config.json --
[{"cluster": {"name": "eu1"}}, {"cluster": {"name": "eu2"}}]
-- config/prod/other.yaml --
cluster: {name: other}
-- config/skip/config.json --
{"cluster": {"name": "skipped"}}
-- broken/a.yaml --
just a text
`

const secrets = `
apiVersion: v1
kind: Secret
metadata: {name: staging, labels: {argocd.argoproj.io/secret-type: cluster, use-kafka: 'false', environment: staging}}
stringData: {name: staging, server: https://1.2.3.4, config: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: production, labels: {argocd.argoproj.io/secret-type: cluster, environment: production}, annotations: {region: eu}}
data: {name: cHJvZHVjdGlvbg==, server: aHR0cHM6Ly8yLjQuNi44, config: aHVudGVyMg==}
`

func own() roots.Repositories { return roots.Repositories{URL: "https://git.example.com/fleet.git"} }

func newGenerator(t *testing.T) *Generator {
	t.Helper()
	g := &Generator{Execute: newWorkers(t).Execute, Repositories: own(), Files: tree.New(t.Context(), files(gitFiles))}
	for text := range strings.SplitSeq(secrets, "---\n") {
		c := ParseCluster(object(t, text))
		if !c.IsKnown() || !IsCluster(object(t, text)) {
			t.Fatal("a cluster's Secret cannot be read")
		}
		g.Clusters = append(g.Clusters, c)
	}
	return g
}

// TestGenerators checks each generator against Argo CD's documentation.
func TestGenerators(t *testing.T) {
	g := newGenerator(t)
	for _, c := range []struct{ name, generators, template, want string }{
		{"a list", "[{list: {elements: [{cluster: dev, values: {a: b}}, {cluster: prod}]}}]",
			"{{cluster}} {{ values.a }}", "dev b|prod {{ values.a }}"},
		{"a list with goTemplate", "[{list: {elements: [{cluster: dev, num: 2, nameSuffix: -x}, {cluster: prod, num: " +
			"3}]}}]", `Go: {{.cluster}}{{dig "nameSuffix" "" .}} {{.num}}`, "dev-x 2|prod 3"},
		{"elementsYaml", "[{list: {elementsYaml: '[{a: {b: c}}]'}}]", "Go: {{.a.b}}", "c"},
		{"folders", "[{git: {repoURL: https://git.example.com/fleet, directories: [{path: 'apps/*'}, {path: " +
			"apps/legacy, exclude: true}], values: {long: 'the-{{path.basename}}'}}}]",
			"{{path}} {{path[1]}} {{path.basename}} {{path.basenameNormalized}} {{values.long}}",
			"apps/Pay_ment Pay_ment Pay_ment pay-ment the-Pay_ment|apps/shop shop shop shop the-shop"},
		{"folders with goTemplate", "[{git: {repoURL: https://git.example.com/fleet, pathParamPrefix: my, " +
			"directories: [{path: '*'}]}}]",
			"Go: {{.my.path.path}}", "apps|broken|config"},
		{"files", "[{git: {repoURL: https://git.example.com/fleet, files: [{path: 'config/**/config.json'}, {path: " +
			"config/skip, exclude: true}]}}]",
			"{{cluster.name}} {{cluster.size}} {{cluster.zones.1}} {{path}} {{path[0]}} {{path.basename}} " +
				"{{path.filename}}",
			"dev 1.23456789e+08 b config/dev config dev config.json|eu1 {{cluster.size}} {{cluster.zones.1}} " +
				"config/prod/eu config eu config.json|eu2 {{cluster.size}} {{cluster.zones.1}} config/prod/eu config " +
				"eu config.json"},
		{"files with goTemplate", "[{git: {repoURL: https://git.example.com/fleet, files: [{path: " +
			"'config/*/*.json'}], values: {x: '{{.cluster.name | upper}}'}}}]",
			"Go: {{.values.x}} {{index .path.segments 1}} {{.path.filenameNormalized}}",
			"DEV dev config.json|EU1 prod config.json|EU2 prod config.json|SKIPPED skip config.json"},
		{"clusters", "[{clusters: {values: {env: '{{metadata.labels.environment}}'}}}]",
			"{{name}} {{server}} {{values.env}}",
			"in-cluster https://kubernetes.default.svc {{metadata.labels.environment}}|production https://2.4.6.8 " +
				"production|staging https://1.2.3.4 staging"},
		{"clusters with a label", "[{clusters: {selector: {matchLabels: {environment: production}}}}]",
			"{{name}} {{metadata.annotations.region}}", "production eu"},
		{"clusters with goTemplate", "[{clusters: {selector: {matchExpressions: [{key: environment, operator: " +
			"Exists}]}}}]",
			"Go: {{.name}} {{.metadata.labels.environment}}{{index .metadata.labels `absent`}}",
			"production production|staging staging"},
		{"all clusters at once", "[{clusters: {flatList: true}}]", "Go: {{range .clusters}}{{.name}} {{end}}",
			"in-cluster production staging "},
		{"a selector", "[{list: {elements: [{cluster: dev, env: a}, {cluster: prod, env: b}]}, selector: " +
			"{matchExpressions: [{key: env, operator: In, values: [b]}]}}]", "{{cluster}}", "prod"},
		{"a selector of nested ones", "[{list: {elements: [{c: {env: a}}, {c: {env: b}}]}, selector: {matchLabels: " +
			"{c.env: b}}}]", "Go: {{.c.env}}", "b"},
		{"a matrix", "[{matrix: {generators: [{git: {repoURL: https://git.example.com/fleet, directories: [{path: " +
			"'apps/s*'}]}}, {clusters: {selector: {matchLabels: {environment: staging}}}}]}}]",
			"{{path.basename}}-{{name}}", "shop-staging"},
		{"a matrix whose second one depends on the first",
			"[{matrix: {generators: [{list: {elements: [{dir: dev}, {dir: prod/eu}]}}, {git: {repoURL: " +
				"https://git.example.com/fleet, files: [{path: 'config/{{.dir}}/config.json'}]}}]}}]",
			"Go: {{.dir}}-{{.cluster.name}}", "dev-dev|prod/eu-eu1|prod/eu-eu2"},
		{"a merge", `[{merge: {mergeKeys: [server], generators: [
			{clusters: {values: {kafka: 'true', redis: 'false'}, selector: {matchExpressions: [{key: environment, operator: Exists}]}}},
			{clusters: {selector: {matchLabels: {use-kafka: 'false'}}, values: {kafka: 'false'}}},
			{list: {elements: [{server: 'https://2.4.6.8', values.redis: 'true'}, {server: absent, values.redis: x}]}}]}}]`,
			"{{name}} {{values.kafka}} {{values.redis}}", "production true true|staging false false"},
		{"a merge with goTemplate", `[{merge: {mergeKeys: [name], generators: [{list: {elements: [{name: a, v: {x: 1, z: 1}}, {name: b}]}}, {list: {elements: [{name: a, v: {z: 2}}]}}]}}]`,
			"Go: {{.name}} {{.v}}", "a map[x:1 z:2]|b <no value>"},
		{"a matrix in a matrix", "[{matrix: {generators: [{matrix: {generators: [{list: {elements: [{a: '1'}]}}, " +
			"{list: {elements: [{b: '2'}, {b: '3'}]}}]}}, {list: {elements: [{c: '4'}]}}]}}]",
			"{{a}}{{b}}{{c}}", "124|134"},
		{"a template of a generator", "[{list: {elements: [{x: '1'}], template: {spec: {source: {path: 'own " +
			"{{x}}'}}}}}, {list: {elements: [{x: '2'}]}}]", "{{x}}", "own 1|2"},
		{"no set", "[{list: {elements: []}}]", "{{x}}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, isGo := strings.CutPrefix(c.template, "Go: ")
			set := object(t, fmt.Sprintf(
				"metadata: {name: s, namespace: argocd}\nspec:\n  goTemplate: %v\n  generators: %s\n  template:\n"+
					"    metadata: {name: app}\n    spec:\n      project: p\n      source: {path: %q}\n", isGo,
				c.generators, template))
			made, err := g.names(t, set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.Join(made, "|")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// names returns the paths of the Applications, and gives them different names.
func (g *Generator) names(t *testing.T, set map[string]any) ([]string, error) {
	t.Helper()
	spec, _ := set["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	var out []string
	metadata, _ := template["metadata"].(map[string]any)
	source, _ := template["spec"].(map[string]any)["source"].(map[string]any)
	metadata["name"] = source["path"]
	for i, raw := range spec["generators"].([]any) {
		if own, _ := raw.(map[string]any)["list"].(map[string]any); own["template"] != nil {
			own["template"].(map[string]any)["metadata"] = map[string]any{"name": fmt.Sprint("own", i)}
		}
	}
	made, err := g.Applications(t.Context(), set)
	for _, app := range made {
		of, err := ParseApplication(withRepository(app))
		if err != nil {
			return nil, err
		}
		out = append(out, of.Spec.Source.Path)
	}
	return out, err
}

func withRepository(app map[string]any) map[string]any {
	app["spec"].(map[string]any)["source"].(map[string]any)["repoURL"] = "https://git.example.com/fleet"
	return app
}

func TestTemplates(t *testing.T) {
	g := newGenerator(t)
	set := object(t, `
metadata: {name: s, namespace: argocd}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  generators:
  - list: {elements: [{cluster: dev, auto: false, team: a}, {cluster: prod, auto: true, team: b, files: [x.yaml]}]}
  template:
    metadata:
      name: '{{.cluster}}-shop'
      namespace: elsewhere
      labels: {'team-{{.team}}': '{{.team}}'}
    spec:
      project: '{{.team}}'
      destination: {name: '{{.cluster}}', namespace: shop}
      source:
        repoURL: https://git.example.com/fleet
        path: apps/shop
        helm: {valuesObject: {'{{.team}}': ['{{.cluster}}', 1]}, skipCrds: true}
  templatePatch: |
    metadata: {labels: {patched: "{{.cluster}}"}}
    spec:
      project: stolen
      {{- if .auto }}
      syncPolicy: {automated: {}}
      {{- end }}
      source:
        helm:
          skipCrds: null
          {{- with dig "files" nil . }}
          valueFiles: {{ toJson . }}
          {{- end }}
`)
	made, err := g.Applications(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: dev-shop, namespace: argocd, labels: {team-a: a, patched: dev}}
spec:
  project: a
  destination: {name: dev, namespace: shop}
  source: {repoURL: https://git.example.com/fleet, path: apps/shop, helm: {valuesObject: {a: [dev, 1]}}}
`), object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: prod-shop, namespace: argocd, labels: {team-b: b, patched: prod}}
spec:
  project: b
  destination: {name: prod, namespace: shop}
  syncPolicy: {automated: {}}
  source: {repoURL: https://git.example.com/fleet, path: apps/shop, helm: {valueFiles: [x.yaml], valuesObject: {b: [prod, 1]}}}
`)}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestApplicationSetsThatCannotBeMade(t *testing.T) {
	g := newGenerator(t)
	const git = "repoURL: https://git.example.com/fleet"
	for spec, want := range map[string]string{
		"generators: [{scmProvider: {}}]": "spec.generators[0].scmProvider: the generator scmProvider queries a " +
			"service, but agentry reads only Git",
		"generators: [{plugin: {}}]": "spec.generators[0].plugin: " +
			"the generator plugin queries",
		"generators: [{lists: {}}]": "spec.generators[0].lists: " +
			"there is no such generator",
		"generators: [{}]": "spec.generators[0]: it has no " +
			"generator",
		"generators: [{list: {}, git: {}}]": "spec.generators[0]: it has " +
			"several generators: git, list",
		"generators: [{list: {elements: [{a: 1}]}}]": "spec.generators[0].list.elements[0].a: without " +
			"goTemplate, values must be strings",
		"generators: [{list: {elements: hunter2}}]": "spec.generators[0].list.elements: has a value of the " +
			"wrong type",
		"generators: [{list: {elementsYaml: 'hunter2'}}]": "spec.generators[0].list.elementsYaml: is not a YAML list " +
			"of maps",
		"generators: hunter2": "spec.generators: has a value " +
			"of the wrong type",
		"generators: [{git: {repoURL: https://other/x, directories: [{path: '*'}]}}]": `spec.generators[0].git.repoURL: other/x is another repository`,
		"generators: [{git: {" + git +
			"}}]": "spec.generators[0].git: it has neither directories nor files",
		"generators: [{git: {" + git +
			", files: [{path: 'broken/*'}]}}]": "spec.generators[0].git.files: the file broken/a.yaml holds neither " +
			"a map nor a list of maps",
		"generators: [{git: {" + git +
			", files: [{path: '../x/*'}]}}]": "spec.generators[0].git: ../x leads out of the repository",
		"generators: [{matrix: {generators: [{list: {}}]}}]": "spec.generators[0].matrix.generators: a matrix needs " +
			"two generators, and has 1",
		"generators: [{merge: {generators: [{list: {}}, {list: {}}]}}]": "spec.generators[0].merge: a " +
			"merge needs two generators or more, and mergeKeys",
		"generators: [{merge: {mergeKeys: [a], generators: [{list: {elements: [{a: x}, {a: x}]}}, {list: {}}]}}]": "spec.generators[0].merge.generators[0]: two of its parameter sets have the same values for mergeKeys",
		"generators: [{matrix: {generators: [{list: {elements: [{a: x}]}}, {list: {elements: [{a: z}]}}]}}]":      `spec.generators[0].matrix: both generators set "a", but to different values`,
		"generators: [{matrix: {generators: [{list: {}}, {merge: {mergeKeys: [a], generators: [{matrix: {}}, {list: " +
			"{}}]}}]}}, {matrix: {generators: [{list: {elements: [{a: x}]}}, {merge: {mergeKeys: [a], generators: " +
			"[{matrix: {}}, {list: {}}]}}]}}]": "spec.generators[1].matrix.generators[1].merge.generators[0].matrix: " +
			"matrix and merge can be nested only once",
		"generators: [{clusters: {selector: {matchExpressions: [{key: a, operator: is}]}}}]": `spec.generators[0].clusters.selector.matchExpressions[0].operator: "is" is not an operator`,
		"goTemplate: true\n  goTemplateOptions: [hunter2]":                                   `spec.goTemplateOptions[0]: "hunter2" is not an option of Go templates`,
		"goTemplate: true\n  goTemplateOptions: [missingkey=error]\n  generators: [{list: {elements: [{a: x}]}}]\n" +
			"  template: {spec: {source: {path: '{{.b}}'}}}": `spec.template.spec.source.path: map has no entry for key "b"`,
		"goTemplate: true\n  generators: [{list: {elements: [{a: x}]}}]\n" +
			"  template: {metadata: {name: '{{range until 2000000000}}{{end}}'}}": "spec.template.metadata.name: " +
			"rendering ",
		"goTemplate: true\n  generators: [{list: {elements: [{a: x}]}}]\n  template: {metadata: {name: '{{uuidv4}}'}}": "spec.template.metadata.name: the template depends on randomness or the time",
		"generators: [{list: {elements: [{a: x}]}}]\n  template: {metadata: {name: '{{a}} {{'}}":                       "spec.template.metadata.name: the template has {{ without }}",
		"generators: [{list: {elements: [{a: x}, {a: x}]}}]\n  template: {metadata: {name: '{{a}}'}, spec: {}}":        `spec.template.metadata.name: two Applications get the name "x"`,
		"generators: [{list: {elements: [{a: x}]}}]\n  template: {metadata: {name: '{{a}}'}, spec: {}}\n" +
			"  templatePatch: 'a: [hunter2'": "spec.templatePatch: its result is not a YAML patch of an Application",
		"generators: [{list: {elements: [{a: x}]}}]": "spec.template: it has no metadata or no spec",
	} {
		_, err := g.Applications(t.Context(), object(t, "metadata: {name: s, namespace: argocd}\nspec:\n  "+spec+"\n"))
		if _, ok := errors.AsType[*diag.Diagnostic](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", spec, err, want)
		}
	}
}

// TestApplicationSetsAreBounded: a few lines can ask for any number of Applications, and any amount of text.
func TestApplicationSetsAreBounded(t *testing.T) {
	g := newGenerator(t)
	elements := "[" + strings.TrimSuffix(strings.Repeat("{a: x}, ", 200), ", ") + "]"
	long := strings.Repeat("x", 1<<20)
	for name, spec := range map[string]string{
		"a matrix": "generators: [{matrix: {generators: [{list: {elements: " + elements + "}}, {list: {elements: " +
			elements + "}}]}}]",
		"a text": "generators: [{list: {elements: [{a: " + long + "}]}}]\n  template: {metadata: {name: '" +
			strings.Repeat("{{a}}", 200) + "'}}",
		"templates": "generators: [{list: {elements: " + elements + "}}]\n  template: {metadata: {name: " + long + "}}",
		"Go": "goTemplate: true\n  generators: [{list: {elements: " + elements +
			"}}]\n  template: {metadata: {name: " + long + "}}",
	} {
		if _, err := g.Applications(t.Context(), object(t, "metadata: {name: s}\nspec:\n  "+spec+"\n")); err == nil ||
			!strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: got %.200v", name, err)
		}
	}
}

// FuzzApplications makes the Applications of any ApplicationSet without Go templates. It ends with Applications or with
// a problem.
func FuzzApplications(f *testing.F) {
	for _, spec := range []string{
		"generators: [{list: {elements: [{a: x}]}}]\ntemplate: {metadata: {name: '{{a}}'}, spec: {source: {path: x}}}",
		"generators: [{matrix: {generators: [{git: {repoURL: 'https://git.example.com/fleet', directories: [{path: " +
			"'apps/*'}]}}, {clusters: {values: {a: '{{path}}'}}}]}, selector: {matchLabels: {name: x}}}]\n" +
			"templatePatch: 'spec: {a: {$patch: delete}}'",
		"generators: [{merge: {mergeKeys: [path], generators: [{git: {repoURL: 'https://git.example.com/fleet', " +
			"files: [{path: 'config/**'}]}}, {list: {elementsYaml: '[{path: config/dev}]'}}]}}]"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		var of map[string]any
		if yaml.Unmarshal([]byte(spec), &of) != nil || of["goTemplate"] != nil {
			return
		}
		g := &Generator{Repositories: own(), Files: tree.New(t.Context(), files(gitFiles))}
		made, err := g.Applications(t.Context(), map[string]any{"metadata": map[string]any{"name": "s"}, "spec": of})
		if _, ok := errors.AsType[*diag.Diagnostic](err); err != nil && !ok {
			t.Errorf("an error that nobody explains: %v", err)
		}
		for _, app := range made {
			if _, err := ParseApplication(app); err != nil {
				if _, ok := errors.AsType[*diag.Diagnostic](err); !ok {
					t.Errorf("an error that nobody explains: %v", err)
				}
			}
		}
	})
}

// TestApplicationsEndWithTheContext: thousands of Applications are not made for a pass whose time is over.
func TestApplicationsEndWithTheContext(t *testing.T) {
	over := errors.New("its time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	g := &Generator{}
	set := object(t, "metadata: {name: s, namespace: argocd}\nspec:\n  generators: [{list: {elements: [{a: b}]}}]\n"+
		"  template: {metadata: {name: '{{a}}'}, spec: {}}\n")
	if made, err := g.Applications(ctx, set); !errors.Is(err, over) {
		t.Errorf("%d, %v", len(made), err)
	}
}
