package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/tree"
)

// TestPatchesAreBounded: copies that double an object, and patches of all objects, are refused before kustomize runs,
// in every way to write them.
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
	const broad = "- {target: {kind: ServiceMonitor}, patch: '[{\"op\": \"add\", \"path\": \"/spec/jobLabel\", " +
		"\"value\": \"v%d\"}]'}\n"
	const named = "- {target: {kind: ServiceMonitor, name: a}, patch: '[{\"op\": \"add\", \"path\": " +
		"\"/spec/jobLabel\", \"value\": \"v%d\"}]'}\n"
	many := each(10_000, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
		"metadata: {name: m%06d, namespace: shop}\nspec: {selector: {}}\n")
	kustomization := func(text string) string {
		if strings.HasPrefix(text, "resources:") {
			return text
		}
		return "resources: [a.yaml]\n" + text
	}
	for name, c := range map[string]struct {
		text    string
		refused bool
	}{
		"eight copies": {"patches: [{target: {kind: ServiceMonitor}, patch: '" + copies(8) + "'}]\n", false},
		"nine copies":  {"patches: [{target: {kind: ServiceMonitor}, patch: '" + copies(9) + "'}]\n", true},
		"in several": {"patches:\n" + each(9, "- {target: {kind: ServiceMonitor}, patch: '["+operation+"]'}\n"),
			true},
		"escaped": {"patches: [{target: {kind: ServiceMonitor}, patch: '" +
			strings.ReplaceAll(copies(9), `"copy"`, `"\u0063opy"`) + "'}]\n", true},
		"by an alias": {"patches:\n- target: {kind: ServiceMonitor}\n  patch: |\n" +
			"    - {op: &a copy, from: /spec, path: /spec/x}\n" +
			each(8, "    - {op: *a, from: /spec, path: /spec/x%d}\n"), true},
		"in a file": {"patches: [{target: {kind: ServiceMonitor}, path: copies.yaml}]\n", true},
		"old ones": {"patchesJson6902: [{target: {version: v1, group: monitoring.coreos.com, kind: " +
			"ServiceMonitor, name: a}, path: copies.yaml}]\n", true},
		"of a transformer": {
			"transformers:\n- |-\n  {apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: x}, " +
				"target: {kind: ServiceMonitor, name: a}, jsonOp: '" +
				copies(9) + "'}\n", true},
		"201 patches of all":   {"patches:\n" + each(201, broad), false},
		"201 of one object":    {"patches:\n" + each(201, named), false},
		"20 of 10,000 objects": {"resources: [many.yaml]\npatches:\n" + each(21, broad), true},
		"of a list":            {"resources: [list.yaml]\npatches:\n" + each(21, broad), true},
		"by a name that is a pattern": {"resources: [many.yaml]\npatches:\n" +
			each(21, strings.ReplaceAll(named, "name: a", "name: m......")), true},
		"in a component":          {"resources: [many.yaml]\ncomponents: [../component]\n", true},
		"in a folder of a folder": {"resources: [many.yaml]\ntransformers: [../nested]\n", true},
		"a prefix of 10,000 objects": {"resources: [many.yaml]\nnamePrefix: " +
			strings.Repeat("x", 2<<10) + "\n", true},
		"suffixes of a base and of what builds on it": {"resources: [../prefixed]\nnameSuffix: " +
			strings.Repeat("x", 1<<10) + "\n", true},
		"annotations of 10,000 objects": {"resources: [many.yaml]\ncommonAnnotations: {x: " +
			strings.Repeat("x", 7<<10) + "}\n", true},
		"annotations that are short": {"resources: [thousand.yaml]\ncommonAnnotations: {x: " +
			strings.Repeat("x", 32) + "}\n", false},
		"labels of 10,000 objects": {"resources: [many.yaml]\nlabels: [{pairs: {x: " +
			strings.Repeat("x", 3<<10) + "}}]\n", true},
		"old labels of 10,000 objects": {"resources: [many.yaml]\ncommonLabels: {x: " +
			strings.Repeat("x", 3<<10) + "}\n", true},
		"a namespace of 10,000 objects": {"resources: [many.yaml]\nnamespace: " +
			strings.Repeat("x", 7<<10) + "\n", true},
		"a long one of 1,000 objects": {
			"resources: [thousand.yaml]\npatches: [{target: {kind: ServiceMonitor}, path: longer.yaml}]\n", true},
		"a large one of 10,000 objects": {
			"resources: [many.yaml]\npatches: [{target: {kind: ServiceMonitor}, path: large.yaml}]\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ours(files(map[string]string{
				"top/kustomization.yaml": kustomization(c.text),
				"top/copies.yaml":        copies(9),
				"top/many.yaml":          many,
				"top/list.yaml": "apiVersion: v1\nkind: List\nitems: [" +
					strings.Repeat("{apiVersion: v1, kind: ConfigMap},", 10_000) + "]\n",
				"top/large.yaml": "- {op: add, path: /spec/jobLabel, value: '" + strings.Repeat("v", 20<<10) +
					"'}\n",

				"top/thousand.yaml": strings.Join(strings.SplitAfter(many, "---\n")[:1_001], ""),
				"top/longer.yaml": "- {op: add, path: /spec/jobLabel, value: '" +
					strings.Repeat("v", 90<<10) + "'}\n",
				"prefixed/kustomization.yaml": "resources: [../many]\nnamePrefix: " + strings.Repeat("x", 1<<10) + "\n",
				"many/kustomization.yaml":     "resources: [many.yaml]\n",
				"many/many.yaml":              many,

				"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" +
					"patches:\n" + each(21, broad),
				"nested/kustomization.yaml":      "resources: [more]\n",
				"nested/more/kustomization.yaml": "resources: [t.yaml]\n",
				"nested/more/t.yaml": each(21,
					"---\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x%d}\n"+
						"patch: '{metadata: {name: x}}'\ntarget: {kind: ServiceMonitor}\n"),
				"top/a.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
					"metadata: {name: a, namespace: shop}\nspec: {selector: {}, endpoints: [{port: a}]}\n",
			}), "top")
			failed, ok := errors.AsType[*diag.Diagnostic](err)
			if isRefused := ok && failed.Code == diag.BuildRefused && strings.Contains(failed.Message, "up to here") &&
				failed.Line > 0 && failed.Hint != ""; isRefused != c.refused {
				t.Errorf("refused is %t: %v", isRefused, err)
			}
			if !c.refused && err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPatchesThatAreNotTraced: kustomize reads all notes about changes again at each patch, so builds with many patches
// run without notes, and findings are at their places all the same.
func TestPatchesThatAreNotTraced(t *testing.T) {
	t.Parallel()
	var objects strings.Builder
	for i := range 30 {
		fmt.Fprintf(&objects, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: m%03d, namespace: shop}\nspec:\n  selector: {}\n  endpoints: [{port: a}]\n", i)
	}
	build := func(count int, more string) ([]manifest.Built, error) {
		var patches strings.Builder
		for i := range count {
			fmt.Fprintf(&patches, "- {target: {kind: ServiceMonitor, name: m%03d}, patch: '[{\"op\": \"add\", "+
				"\"path\": \"/spec/jobLabel\", \"value\": \"v%d\"}]'}\n", i%30, i)
		}
		in := files(map[string]string{"top/a.yaml": objects.String(),
			"top/kustomization.yaml": "resources: [a.yaml]\npatches:\n" + patches.String() + more})
		open := func() (tree.Files, func(), error) { return in, func() {}, nil }
		return kustomize.Build(t.Context(), tree.New(t.Context(), in), kustomize.Request{Folder: "top"}, open, nil)
	}
	docs, err := build(200, "buildMetadata: [managedByLabel]\n")
	if err != nil || len(docs) != 30 {
		t.Fatalf("%d objects: %v", len(docs), err)
	}
	text := string(docs[3].Text)
	if !strings.Contains(text, "jobLabel: v183") ||
		!strings.Contains(text, "app.kubernetes.io/managed-by: kustomize-v5") ||
		strings.Contains(text, "config.kubernetes.io") {
		t.Errorf("built is\n%s", text)
	}
	for field, want := range map[string]string{"spec.endpoints[0].port": "top/a.yaml:28",
		"spec.jobLabel": "top/kustomization.yaml:186"} {
		if file, line, _ := docs[3].Origin.Find(text, field); fmt.Sprint(file, ":", line) != want {
			t.Errorf("%s is at %s:%d, want %s", field, file, line, want)
		}
	}
	_, err = build(400, "buildMetadata: [originAnnotations]\n")
	if failed, ok := errors.AsType[*diag.Diagnostic](err); !ok || failed.Code != diag.BuildRefused ||
		!strings.Contains(failed.Message, "buildMetadata requires it") {
		t.Errorf("with annotations: %v", err)
	}
}

// TestWhatAnOperationMayMean holds the hints about paths that an object does not have.
func TestWhatAnOperationMayMean(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{
		"{op: add, path: /spec/endpoint/-, value: {port: b}}":         "did you mean /spec/endpoints/-?",
		"{op: add, path: /spec/endpoint/1, value: {port: b}}":         "did you mean /spec/endpoints/1?",
		"{op: add, path: /spec/endpoint/2, value: {port: b}}":         "add /spec/endpoint first, or correct the path",
		"{op: add, path: /spec/selector/matchLabel/new, value: x}":    "did you mean /spec/selector/matchLabels/new?",
		"{op: replace, path: /spec/selector/matchLabel/new}":          "correct the path",
		"{op: replace, path: /spec/endpoint/0/port, value: other}":    "did you mean /spec/endpoints/0/port?",
		"{op: add, path: /spec/selector/matchLabels/app/x, value: x}": "correct the path",
		"{op: rplace, path: /spec/endpoints/0/port, value: b}":        "did you mean replace?",
		"{op: swap, path: /spec/endpoints/0/port, value: b}":          "use add, remove, replace, move, copy or test",
	} {
		_, err := ours(files(map[string]string{
			"top/kustomization.yaml": "resources: [a.yaml]\npatches:\n- target: {kind: ServiceMonitor}\n  patch: |-\n" +
				"    - " + operation + "\n",
			"top/a.yaml": "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n" +
				"spec: {selector: {matchLabels: {app: a}}, endpoints: [{port: a}]}\n",
		}), "top")
		if failed, ok := errors.AsType[*diag.Diagnostic](err); !ok || failed.Hint != want {
			t.Errorf("%s: want the hint %q, got %v (%+v)", operation, want, err, failed)
		}
	}
}

// TestAnUnreadableKustomizationSaysWhy holds that what is open is named where it begins.
func TestAnUnreadableKustomizationSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := ours(files(
		map[string]string{"top/kustomization.yaml": "namePrefix: a-\nresources: [a.yaml\nnamespace: b\n"}), "top")
	failed, ok := errors.AsType[*diag.Diagnostic](err)
	if !ok || failed.Line != 2 || failed.Column != 12 ||
		failed.Message != "the kustomization cannot be read: the list that begins here is not closed" {
		t.Errorf("%v (%+v)", err, failed)
	}
}
