package kustomize_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// TestNothingIsFetched: whatever kustomize would take for another machine is refused at its place, before it can.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	const url = "http://169.254.169.254/latest"
	for name, text := range map[string]string{
		"a base":                  "resources: [" + url + "]",
		"a base in other letters": "Resources: ['HTTPS://example.com/a']",
		"an old base":             "bases: ['git::https://example.com/a']",
		"of a user":               "resources: ['git@example.com:a/b']",
		"of GitHub":               "resources: [GitHub.com/a/b]",
		"a repository on disk":    "resources: ['file:///etc']",
		"a component":             "components: ['ssh://example.com/a']",
		"a patch":                 "patches: [{path: " + url + "}]",
		"an old patch":            "patchesStrategicMerge: [" + url + "]",
		"a JSON patch": "patchesJson6902: [{path: " + url +
			", target: {version: v1, kind: Secret, name: x}}]",
		"a replacement":                 "replacements: [{path: " + url + "}]",
		"a CRD":                         "crds: [" + url + "]",
		"a configuration":               "configurations: [" + url + "]",
		"a schema":                      "openapi: {path: " + url + "}",
		"a validator":                   "validators: [" + url + "]",
		"a transformer that looks like": "transformers: ['" + url + ": x']",
		"a patch of a transformer": "transformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: " +
			"{name: x}, path: \"" + url + "\"}']",
		"a generator in other letters": "generators: ['{apiVersion: builtin, kind: ConfigMapGenerator, metadata: " +
			"{name: x}, Files: [\"a=" + url + "\"]}']",
		"a generator by an alias": "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n" +
			"  metadata: {name: x, annotations: {x: &a '" + url + "'}}\n  envs: [*a]\n",
		"a generator by a merge": "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n" +
			"  metadata: {name: x}\n  <<: {envs: ['" + url + "']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ours(files(map[string]string{"top/kustomization.yaml": text + "\n"}), "top")
			failed, ok := errors.AsType[*diag.Diagnostic](err)
			if !ok || failed.Code != diag.BuildRefused || failed.File != "top/kustomization.yaml" || failed.Hint == "" {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}
}

// TestRemoteFilesOfGeneratorsAreLeftOut: they can make no monitor, so none is lost with them.
func TestRemoteFilesOfGeneratorsAreLeftOut(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"top/a.txt": "x", "top/m.yaml": monitor, "top/kustomization.yaml": `resources: [m.yaml]
configMapGenerator:
- name: dashboards
  files: [a.txt, b.json=https://example.com/b.json]
  envs: [https://example.com/env]
secretGenerator:
- {name: keys, env: "git::https://example.com/keys"}
`})
	var got []string
	docs, err := kustomize.Build(t.Context(), tree.New(t.Context(), repository), kustomize.Request{Folder: "top"},
		kustomize.Options{Kustomize: testworker.Kustomize(), Warn: func(found diag.List) {
			for _, d := range found {
				got = append(got, fmt.Sprint(d.File, ":", d.Line, " ", d.Severity, " ", d.Message))
			}
		}})
	want := []string{
		"top/kustomization.yaml:4 warning configMapGenerator[0].files[1]: is remote, so the object is built without it",
		"top/kustomization.yaml:5 warning configMapGenerator[0].envs[0]: is remote, so the object is built without it",
		"top/kustomization.yaml:7 warning secretGenerator[0].env: is remote, so the object is built without it",
	}
	if err != nil || len(docs) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d objects, %v:\n%s", len(docs), err, strings.Join(got, "\n"))
	}
}

// TestErrorsHoldNoValues: kustomize's own errors quote patches and literals.
func TestErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, of := range map[string]map[string]string{
		"a literal":      {"top/kustomization.yaml": "secretGenerator: [{name: x, literals: [hunter2]}]"},
		"a patch":        {"top/kustomization.yaml": "patches: [{patch: hunter2}]"},
		"a broken patch": {"top/kustomization.yaml": "patches: [{patch: '{hunter2'}]"},
		"a resource": {"top/kustomization.yaml": "resources: [a.yaml]",
			"top/a.yaml": "apiVersion: v1\nkind: Secret\nstringData: {x: hunter2}\n"},
		"no object": {"top/kustomization.yaml": "resources: [a.yaml]", "top/a.yaml": "password: hunter2\n"},
		"broken YAML": {"top/kustomization.yaml": "resources: [a.yaml]",
			"top/a.yaml": "apiVersion: v1\nkind: Secret\nx: 'hunter2\n"},
		"a kustomization":  {"top/kustomization.yaml": "secretGenerator: hunter2"},
		"an unknown field": {"top/kustomization.yaml": "secretGenerator: [{name: x, 'hunter2 x': y}]"},
		"a test": {"top/kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: " +
			"test, path: /stringData/x, value: other}]'}]",
			"top/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {x: hunter2}\n"},
	} {
		_, err := ours(files(of), "top")
		if _, ok := errors.AsType[*diag.Diagnostic](err); !ok ||
			strings.Contains(fmt.Sprintf("%v %+v", err, err), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnErrorIsAtTheEntryToBlame has kustomizations that fail by one of their entries.
func TestAnErrorIsAtTheEntryToBlame(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: y}\ndata: {a: b}\n"
	const good = `{target: {kind: ConfigMap}, patch: '[{"op": "add", "path": "/data/c", "value": "d"}]'}`
	for of, want := range map[string]string{
		"resources: [a.yaml]\nkind: Kustomisation\n": "top/kustomization.yaml:2:7: kind: is not known to kustomize",
		"resources: [a.yaml]\nimages: a\n":           "top/kustomization.yaml:2:9: images: must be a list",
		"resources: [a.yaml, {b: c}]\n":              "top/kustomization.yaml:1:21: resources[1]: must be a string",
		"labels: [{pairs: {}}, {pairs: [a]}]\n":      "top/kustomization.yaml:1:31: labels[1].pairs: must be a mapping",
		"patches: [{path: p.yaml}, p.yaml]\n":        "top/kustomization.yaml:1:27: patches[1]: must be a mapping",
		"commonLabels: {a: b, c.d/e: [x]}\n":         "top/kustomization.yaml:1:29: commonLabels.c.d/e: must be a string",
		"images:\n- name: x\n  newTag: 1.0\n":        "top/kustomization.yaml:3:11: images[0].newTag: must be a string",
		"configMapGenerator: [{literals: a}]\n": "top/kustomization.yaml:1:33: configMapGenerator[0].literals: must be " +
			"a list",
		"helmCharts:\n- name: x\n  valuesFiles:\n": "top/kustomization.yaml:3:3: valuesFiles: unknown field",
		"resources: [a.yaml]\nnamePrefix: [a]\n":   "top/kustomization.yaml:2:13: namePrefix: must be a string",
		"resources: [a.yaml, b.yaml, c.yaml]\n": "top/kustomization.yaml:1:21: resources[1]: contains " +
			"ConfigMap.v1/x.y twice: at top/a.yaml:1 and at top/b.yaml:1",
		"resources: [a.yaml, c.yaml]\nnamespace: z\n": "top/kustomization.yaml:2:12: namespace: two objects would " +
			"have the same name in one namespace, or all Namespaces the same name",
		"resources: [a.yaml]\npatches:\n- " + good + "\n- {target: {kind: ConfigMap}, patch: '[{op: add}]'}\n- " +
			good + "\n": "top/kustomization.yaml:4:3: patches[1]: a patch is neither part of an object nor a list of " +
			"operations",
		"resources: [a.yaml]\npatches:\n- " + good +
			"\n- {target: {kind: ConfigMap}, patch: '- {op: ad, path: /a, value: 1}'}": `top/kustomization.yaml:4:38: patches[1], operation 1 (ad /a): ConfigMap/y/x takes no operation "ad"`,
		"resources: [a.yaml]\npatches:\n- " + good + "\n- {path: p.yaml}\n- " + good +
			"\n": "top/kustomization.yaml:4:3: patches[1]: a patch targets ConfigMap.v1/none, which does not exist",
		"resources: [a.yaml, ../base]\n": "base/kustomization.yaml:2:11: patches[0]: " +
			"a patch targets ConfigMap.v1/none, which does not exist",
		"resources: [a.yaml]\ncomponents: [../part]\n": "top/kustomization.yaml:2:14: " +
			"components[0]: a patch targets ConfigMap.v1/none, which does not exist",
		"resources: [a.yaml, ../part]\n": "top/kustomization.yaml:1:21: resources[1]: \"../part\" is a Component",
		"resources: [a.yaml]\ncomponents: [../base]\n": "top/kustomization.yaml:2:14: components[0]: " +
			"\"../base\" is no Component",
		"resources: [a.yaml]\nsecretGenerator: [{name: a}, {name: a}]\n": "top/kustomization.yaml:2:30: " +
			"secretGenerator[1]: a generator makes an object that already exists",
	} {
		_, err := ours(files(map[string]string{"top/kustomization.yaml": of, "top/a.yaml": object, "top/b.yaml": object,
			"top/c.yaml":              strings.Replace(object, "y}", "z}", 1),
			"top/p.yaml":              strings.Replace(object, "name: x, namespace: y", "name: none", 1),
			"base/kustomization.yaml": "resources: [d.yaml]\npatches: [{path: p.yaml}]\n",
			"base/d.yaml":             strings.Replace(object, "name: x", "name: d", 1),
			"base/p.yaml":             strings.Replace(object, "name: x, namespace: y", "name: none", 1),
			"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
				"patches: [{path: p.yaml}]\n",
			"part/p.yaml": strings.Replace(object, "name: x, namespace: y", "name: none", 1),
		}), "top")
		failed, ok := errors.AsType[*diag.Diagnostic](err)
		if !ok {
			t.Errorf("%s: %v", of, err)
			continue
		}
		if got := fmt.Sprintf("%s:%d:%d: %s", failed.File, failed.Line, failed.Column, failed.Message); got != want {
			t.Errorf("%s:\n got %s\nwant %s", of, got, want)
		}
	}
}

func laughs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d, ", i), 10), ", "))
	}
	return b.String()
}

func TestLinksStayInTheRepository(t *testing.T) {
	t.Parallel()
	repository := files(map[string]string{"base/kustomization.yaml": "resources: [x.yaml]",
		"base/x.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
		"top/kustomization.yaml": "resources: [in]", "out/kustomization.yaml": "resources: [out]"})
	repository["top/in"] = &fstest.MapFile{Data: []byte("../base"), Mode: fs.ModeSymlink}
	repository["out/out"] = &fstest.MapFile{Data: []byte("../../base"), Mode: fs.ModeSymlink}
	if text, err := ours(repository, "top"); err != nil || !strings.Contains(text, "name: x") {
		t.Errorf("a link in the repository: %q, %v", text, err)
	}
	_, err := ours(repository, "out")
	if failed, ok := errors.AsType[*diag.Diagnostic](err); !ok || failed.Code != diag.BuildRefused ||
		failed.Line != 1 {
		t.Errorf("a link out of the repository: %v", err)
	}
}

// FuzzBuild builds kustomizations that may say anything. It must end with objects or an explained error, and read
// nothing but the files.
func FuzzBuild(f *testing.F) {
	for _, text := range []string{"resources: [x.yaml]",
		"patches: [{patch: '[]', target: {kind: ConfigMap}}]\nresources: [../base]",
		"namespace: x\nlabels: [{pairs: {a: b}}]",
		"configMapGenerator: [{name: x, literals: [a=b]}]",
		"replacements: [{source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, " +
			"fieldPaths: [data.x]}]}]"} {
		f.Add(text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: hunter2}\n")
	}
	f.Fuzz(func(t *testing.T, top, x string) {
		_, err := ours(files(map[string]string{"top/kustomization.yaml": top, "top/x.yaml": x,
			"base/kustomization.yaml": "resources: [y.yaml]",
			"base/y.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n"}), "top")
		if _, ok := errors.AsType[*diag.Diagnostic](err); err != nil && !ok {
			t.Errorf("an error that nobody explains: %v", err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") && !strings.Contains(top, "hunter2") {
			t.Errorf("a value is in the error: %v", err)
		}
	})
}
