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
