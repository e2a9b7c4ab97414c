package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
)

// TestKustomizeIsQuotedWithoutValues has kustomizations that only kustomize itself can explain.
func TestKustomizeIsQuotedWithoutValues(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: y}\nstringData: {a: hunter2}\n"
	const generator = "apiVersion: builtin\nkind: %s\nmetadata: {name: g}\n"
	for name, c := range map[string]struct {
		of   map[string]string
		want string
	}{
		"a generator of an unknown kind": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\ngenerators: [g.yaml]",
			"top/g.yaml":             fmt.Sprintf(generator, "hunter2") + "password: hunter2\n"},
			"2:14: error[build-failed]: generators[0]: kustomize says: loading generator plugins: failed to load " +
				"generator: unable to load builtin …"},
		"a transformer as a generator": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\ngenerators: [g.yaml]",
			"top/g.yaml":             fmt.Sprintf(generator, "PrefixTransformer") + "prefix: hunter2\n"},
			"2:14: error[build-failed]: generators[0]: kustomize says: loading generator plugins: failed to load " +
				"generator … PrefixTransformer/g fails configuration: fieldSpecs is not expected to be nil"},
		"a name": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: p-\nconfigurations: [c.yaml]",
			"top/c.yaml":             "namePrefix: [{path: stringData/a/hunter2, create: true}]\n"},
			"2:13: error[build-failed]: namePrefix: kustomize says: considering field … of object … expected " +
				"sequence or mapping node"},
		"a number of replicas": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\nreplicas: [{name: hunter2, count: 3}]"},
			"2:12: error[build-failed]: replicas[0]: kustomize says: resource with name … does not match a config " +
				"with the following GVK …"},
		"a variable": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\nvars: [{name: hunter2}]"},
			"2:8: error[build-failed]: vars[0]: kustomize says: … cannot be mapped to a field in the set of known " +
				"resources"},
		"a target that is no regular expression": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\n" +
			"patches:\n- target: {name: 'hunter2['}\n  patch: |\n    - {op: add, path: /data, value: hunter2}\n"},
			"3:3: error[build-failed]: patches[0]: a selector is not a regular expression: missing closing ]"},
		"a key twice": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\n" +
			"secretGenerator: [{name: s, literals: [hunter2=x, hunter2=y]}]"},
			"2:19: error[build-failed]: secretGenerator[0]: a generator has the same key twice"},
		"an unknown field of configurations": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\nconfigurations: [c.yaml]",
			"top/c.yaml":             "prefixes: [hunter2]"},
			"2:18: error[build-failed]: configurations[0]: has the unknown field prefixes"},
		"an unknown order": {map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\nsortOptions: {order: hunter2}"},
			"2:14: error[build-failed]: sortOptions: order must be fifo or legacy"},
		"a replacement from a remote file": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\n" +
			"configMapGenerator: [{name: g, files: [https://example.com/a.json]}]\nreplacements:\n" +
			"- source: {kind: ConfigMap, name: g, fieldPath: data.a}\n" +
			"  targets: [{select: {kind: Secret}, fieldPaths: [data.a]}]\n"},
			"4:3: error[build-failed]: replacements[0]: its source is generated without a remote file: " +
				"top/kustomization.yaml, configMapGenerator[0].files[0]"},
		"a crash": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml, b.yaml]\nreplacements:\n" +
			"- source: {kind: Secret, name: x, fieldPath: stringData.a}\n" +
			"  targets: [{select: {kind: ConfigMap}, fieldPaths: [metadata.name]}]\n",
			"top/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"},
			"3:3: error[build-failed]: replacements[0]: kustomize's library crashed on it"},
		"copies that double": {map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\npatches:\n" +
			"- target: {kind: Secret}\n  patch: |\n" +
			doubling(30)},
			"11: error[build-failed]: patches[0], operation 7 (copy /stringData to /stringData/k5): Secret/y/x " +
				"would grow by more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.of["top/a.yaml"] = object
			_, err := ours(files(c.of), "top")
			failed, ok := errors.AsType[*diag.Diagnostic](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if got := failed.String(); got != "top/kustomization.yaml:"+c.want || strings.Contains(got, "hunter2") {
				t.Errorf("got  %s\nwant …%s", got, c.want)
			}
		})
	}
}

// doubling returns operations of a JSON patch, each of which doubles a Secret that the first makes large.
func doubling(n int) (text string) {
	text = "    - {op: add, path: /stringData/large, value: " + strings.Repeat("x", 64<<10) + "}\n"
	for i := range n {
		text += fmt.Sprintf("    - {op: copy, from: /stringData, path: /stringData/k%d}\n", i)
	}
	return text
}

// TestAFileThatAliasesMakeTooLargeIsNamed: the file is to blame, not the kustomization that names it.
func TestAFileThatAliasesMakeTooLargeIsNamed(t *testing.T) {
	t.Parallel()
	bomb := "kind: A\n---\na0: &a0 [x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	_, err := ours(files(map[string]string{"top/kustomization.yaml": "resources: [b.yaml]", "top/b.yaml": bomb}), "top")
	failed, ok := errors.AsType[*diag.Diagnostic](err)
	const want = "top/b.yaml:3:1: error[build-failed]: with the aliases of this document expanded, the file is too large"
	if !ok || failed.String() != want {
		t.Errorf("got %v", err)
	}
}
