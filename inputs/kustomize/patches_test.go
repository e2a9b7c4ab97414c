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
	"github.com/agentry-dev/agentry/test/testworker"
)

// TestPlacesOfManyPatches: findings are at their places, and kustomize's notes about changes are not in the objects.
func TestPlacesOfManyPatches(t *testing.T) {
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
		return kustomize.Build(t.Context(), tree.New(t.Context(), in), kustomize.Request{Folder: "top"},
			kustomize.Options{Kustomize: testworker.Kustomize(), Open: open})
	}
	docs, err := build(90, "buildMetadata: [managedByLabel]\n")
	if err != nil || len(docs) != 30 {
		t.Fatalf("%d objects: %v", len(docs), err)
	}
	text := string(docs[3].Text)
	if !strings.Contains(text, "jobLabel: v63") ||
		!strings.Contains(text, "app.kubernetes.io/managed-by: kustomize-v5") ||
		strings.Contains(text, "config.kubernetes.io") {
		t.Errorf("built is\n%s", text)
	}
	for field, want := range map[string]string{"spec.endpoints[0].port": "top/a.yaml:28",
		"spec.jobLabel": "top/kustomization.yaml:66"} {
		if file, line, _ := docs[3].Origin.Find(text, field); fmt.Sprint(file, ":", line) != want {
			t.Errorf("%s is at %s:%d, want %s", field, file, line, want)
		}
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
