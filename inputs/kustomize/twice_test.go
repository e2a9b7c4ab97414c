package kustomize_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
	"github.com/agentry-dev/agentry/test/testworker"
)

// TestObjectsThatAreThereTwice: the error names both places, also for a folder without a kustomization.
func TestObjectsThatAreThereTwice(t *testing.T) {
	t.Parallel()
	const shop = "kind: Service\napiVersion: v1\nmetadata: {name: shop}\n"
	const inDefault = "kind: Other\napiVersion: v1\nmetadata: {name: shop}\n---\nkind: Service\napiVersion: v1\n" +
		"metadata: {name: shop, namespace: default}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"files of folders without a kustomization": {map[string]string{"top/a/one.yaml": shop,
			"top/b/two.yaml": inDefault},
			"top/b/two.yaml:5:1: contains Service.v1/shop.default twice: at top/a/one.yaml:1 and at top/b/two.yaml:5"},
		"bases of a folder without a kustomization": {map[string]string{"top/a/one.yaml": shop,
			"top/a/kustomization.yaml": "resources: [one.yaml]", "top/b/two.yaml": shop,
			"top/b/kustomization.yaml": "resources: [two.yaml]"},
			"top/b/two.yaml:1:1: contains Service.v1/shop twice: at top/a/one.yaml:1 and at top/b/two.yaml:1"},
		"bases of a kustomization": {map[string]string{"a/one.yaml": shop,
			"a/kustomization.yaml": "resources: [one.yaml]", "top/two.yaml": shop,
			"top/kustomization.yaml": "resources: [two.yaml, ../a]"},
			"top/kustomization.yaml:1:23: resources[1]: contains Service.v1/shop twice: at top/two.yaml:1 and at " +
				"a/one.yaml:1"},
		"one base by two ways": {map[string]string{"a/one.yaml": shop,
			"a/kustomization.yaml": "resources: [one.yaml]", "b/kustomization.yaml": "resources: [../a]",
			"top/kustomization.yaml": "resources: [../b, ../a]"},
			"top/kustomization.yaml:1:19: resources[1]: contains Service.v1/shop twice: it is at a/one.yaml:1, which two " +
				"entries lead to"},
		"a patch is none": {map[string]string{"a/one.yaml": shop, "top/two.yaml": "kind: Service\napiVersion: v1\n" +
			"metadata: {name: x-shop}\n", "a/kustomization.yaml": "resources: [one.yaml]\nnamePrefix: x-\n" +
			"patches: [{path: one.yaml}]", "top/kustomization.yaml": "resources: [two.yaml, ../a]"},
			"top/kustomization.yaml:1:23: resources[1]: contains Service.v1/x-shop twice"},
	} {
		_, err := kustomize.Build(t.Context(), tree.New(t.Context(), files(c.files)),
			kustomize.Request{Folder: "top", Generate: &kustomize.Generate{}},
			kustomize.Options{Kustomize: testworker.Kustomize()})
		if got := at(err); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestKeysThatCannotBeWritten: kustomize reads keys that are there twice, and those that are no strings, but cannot
// write them. The error is at the key.
func TestKeysThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const config = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n"
	const second = config + "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: b}\n"
	const list = "resources: [a.yaml]\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"twice": {map[string]string{"top/a.yaml": second + "data: {a: b}\ndata: {a: b}\n"},
			"top/a.yaml:9:1: the file cannot be built: the key \"data\" occurs twice"},
		"twice, in a kustomization": {map[string]string{"top/kustomization.yaml": list,
			"top/a.yaml": second + "data:\n  a: b\n  a: b\n"},
			"top/a.yaml:10:3: the file cannot be built: the key \"a\" occurs twice"},
		"twice in a monitor": {map[string]string{"top/kustomization.yaml": list,
			"top/a.yaml": "kind: ServiceMonitor\napiVersion: monitoring.coreos.com/v1\nmetadata: {name: a}\n" +
				"spec: {selector: {}, endpoints: []}\nspec: {selector: {}, endpoints: []}\n"},
			"top/a.yaml:5:1: the file cannot be built: the key \"spec\" occurs twice"},
		"a number": {map[string]string{"top/a.yaml": second + "data: {1: a}\n"},
			"top/a.yaml:8:8: the file cannot be built: the key 1 is not a string"},
		"in a patch of a kustomization": {map[string]string{"top/a.yaml": config,
			"top/kustomization.yaml": list + "patches: [{patch: '{kind: ConfigMap, apiVersion: v1, metadata: {name: a}, " +
				"data: {1: b}}'}]\n"},
			"top/kustomization.yaml:0:0: ConfigMap a cannot be written as YAML: a key in it is there twice, or is not a " +
				"string"},
	} {
		_, err := kustomize.Build(t.Context(), tree.New(t.Context(), files(c.files)),
			kustomize.Request{Folder: "top", Generate: &kustomize.Generate{}},
			kustomize.Options{Kustomize: testworker.Kustomize()})
		if got := at(err); got != c.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// at returns an error with its place.
func at(err error) string {
	if failed, ok := errors.AsType[*diag.Diagnostic](err); ok {
		return fmt.Sprintf("%s:%d:%d: %s", failed.File, failed.Line, failed.Column, failed.Message)
	}
	return fmt.Sprint(err)
}
