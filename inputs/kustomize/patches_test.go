package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
)

// TestPatchesAreBounded: copies that double an object, and patches of all objects, are refused before kustomize runs, in every way
// to write them.
func TestPatchesAreBounded(t *testing.T) {
	t.Parallel()
	const operation = `{"op": "copy", "from": "/spec", "path": "/spec/x%d"}`
	copies := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(operation, i))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	each := func(n int, entry string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String()
	}
	const broad = "- {target: {kind: ServiceMonitor}, patch: '[{\"op\": \"add\", \"path\": \"/spec/jobLabel\", \"value\": \"v%d\"}]'}\n"
	const named = "- {target: {kind: ServiceMonitor, name: a}, patch: '[{\"op\": \"add\", \"path\": \"/spec/jobLabel\", \"value\": \"v%d\"}]'}\n"
	for name, c := range map[string]struct {
		text    string
		refused bool
	}{
		"eight copies": {"patches: [{target: {kind: ServiceMonitor}, patch: '" + copies(8) + "'}]\n", false},
		"nine copies":  {"patches: [{target: {kind: ServiceMonitor}, patch: '" + copies(9) + "'}]\n", true},
		"in several":   {"patches:\n" + each(9, "- {target: {kind: ServiceMonitor}, patch: '["+operation+"]'}\n"), true},
		"escaped":      {"patches: [{target: {kind: ServiceMonitor}, patch: '" + strings.ReplaceAll(copies(9), `"copy"`, `"\u0063opy"`) + "'}]\n", true},
		"by an alias":  {"patches:\n- target: {kind: ServiceMonitor}\n  patch: |\n    - {op: &a copy, from: /spec, path: /spec/x}\n" + each(8, "    - {op: *a, from: /spec, path: /spec/x%d}\n"), true},
		"in a file":    {"patches: [{target: {kind: ServiceMonitor}, path: copies.yaml}]\n", true},
		"old ones":     {"patchesJson6902: [{target: {version: v1, group: monitoring.coreos.com, kind: ServiceMonitor, name: a}, path: copies.yaml}]\n", true},
		"of a transformer": {"transformers:\n- |-\n  {apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: x}, target: {kind: ServiceMonitor, name: a}, jsonOp: '" +
			copies(9) + "'}\n", true},
		"200 patches of all": {"patches:\n" + each(200, broad), false},
		"201 patches of all": {"patches:\n" + each(201, broad), true},
		"201 of one object":  {"patches:\n" + each(201, named), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ours(files(map[string]string{
				"top/kustomization.yaml": "resources: [a.yaml]\n" + c.text,
				"top/copies.yaml":        copies(9),
				"top/a.yaml":             "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a, namespace: shop}\nspec: {selector: {}, endpoints: [{port: a}]}\n",
			}), "top")
			failed, ok := errors.AsType[*kustomize.Error](err)
			if isRefused := ok && failed.Code == diag.BuildRefused && strings.Contains(failed.Message, "up to here") && failed.Line > 0 && failed.Hint != ""; isRefused != c.refused {
				t.Errorf("refused is %t: %v", isRefused, err)
			}
			if !c.refused && err != nil {
				t.Error(err)
			}
		})
	}
}
