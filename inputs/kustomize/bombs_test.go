package kustomize_test

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/inputs/kustomize"
	"github.com/agentry-dev/agentry/inputs/kustomizer"
	"github.com/agentry-dev/agentry/inputs/tree"
)

const (
	monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
		"metadata: {name: a, namespace: shop}\nspec: {selector: {}, endpoints: [{port: a}]}\n"
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: bbbbbbbb}\n" +
		"list: [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
	doubles = "- {source: {kind: ConfigMap, name: x, fieldPath: data.a}, targets: [{select: {kind: ConfigMap}, " +
		"fieldPaths: [data.a], options: {delimiter: '-', index: -1}}]}\n"
	nests = "- {source: {kind: ConfigMap, name: x, fieldPath: data}, targets: [{select: {name: x}, fieldPaths: " +
		"[data.k%d], options: {create: true}}]}\n"
	each = "- {target: {kind: ServiceMonitor}, patch: '[{\"op\": \"add\", \"path\": \"/spec/jobLabel\", " +
		"\"value\": \"v%d\"}]'}\n"
)

// times repeats a text with a number in it.
func times(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// copies is a JSON patch that doubles an object n times.
func copies(n int) string {
	return "[" + strings.TrimSuffix(times(n, `{"op": "copy", "from": "/spec", "path": "/spec/x%d"}, `), ", ") + "]"
}

// of returns a repository with a kustomization of two files of objects.
func of(kustomization, objects string) map[string]string {
	return map[string]string{"top/kustomization.yaml": "resources: [a.yaml]\n" + kustomization, "top/a.yaml": objects}
}

func replacing(text string) map[string]string { return of("replacements:\n"+text, configMap) }

// chain has n overlays with a component each, one over the other.
func chain(n int) map[string]string {
	out := map[string]string{"o0/kustomization.yaml": "resources: [x.yaml]", "o0/x.yaml": configMap,
		"component/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n" +
			"replacements:\n" + doubles}
	for i := range n {
		out[fmt.Sprintf("o%d/kustomization.yaml", i+1)] = fmt.Sprintf(
			"resources: [../o%d]\ncomponents: [../component]\n", i)
	}
	out["top/kustomization.yaml"] = fmt.Sprintf("resources: [../o%d]\n", n)
	return out
}

// nested has n levels of folders with a base that is named ten times each.
func nested(n int) map[string]string {
	out := map[string]string{"l0/kustomization.yaml": "resources: [a.yaml]\n", "l0/a.yaml": monitor}
	for i := range n {
		out[fmt.Sprintf("l%d/kustomization.yaml", i+1)] = "resources:\n" +
			times(10, fmt.Sprintf("- p%%d\n")) + "namePrefix: a-\n"
		for j := range 10 {
			out[fmt.Sprintf("l%d/p%d/kustomization.yaml", i+1, j)] = fmt.Sprintf(
				"resources: [../../l%d]\nnamePrefix: p%d-\n", i, j)
		}
	}
	out["top/kustomization.yaml"] = fmt.Sprintf("resources: [../l%d]\n", n)
	return out
}

// TestWhatPeopleWriteIsBuilt: nothing is refused for what it might become.
func TestWhatPeopleWriteIsBuilt(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]map[string]string{
		"ten copies":          of("patches: [{target: {kind: ServiceMonitor}, patch: '"+copies(10)+"'}]\n", monitor),
		"201 patches":         of("patches:\n"+times(201, each), monitor),
		"two replacements":    replacing(doubles + doubles),
		"a nested one":        replacing(times(1, nests)),
		"three overlays":      chain(3),
		"a hundred of a base": nested(2),
		"300 that read others": replacing(strings.Repeat(strings.ReplaceAll(doubles,
			"[data.a], options: {delimiter: '-', index: -1}",
			"[data.b], options: {delimiter: '-', index: -1, create: true}"), 300)),
		"a var in a large text": of("vars: [{name: V, objref: {kind: ConfigMap, name: x, apiVersion: v1}, fieldref: "+
			"{fieldpath: data.a}}]", strings.Replace(configMap, "bbbbbbbb", strings.Repeat("$(W)", 10_000), 1)),
	} {
		if _, err := ours(files(of), "top"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBombsAreRefused: a small kustomization can need any amount of time and memory. It fails alone, and says which
// limit it exceeds.
func TestBombsAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of processor time for each bomb: make race runs it")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the kernel sets the limits on Linux only")
	}
	w := kustomizer.NewWorkers(kustomizer.Options{Limits: kustomizer.Limits{CPU: time.Second}})
	defer w.Close()
	many := func(n int) string { return times(n, "---\n"+strings.Replace(monitor, "name: a", "name: m%d", 1)) }
	const limit = "more than (1s of processor time|768 MiB of memory|64 MiB of objects)"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // a pattern
	}{
		"forty copies":     {of("patches: [{target: {kind: ServiceMonitor}, patch: '"+copies(40)+"'}]\n", monitor), "."},
		"doubled":          {replacing(strings.Repeat(doubles, 40)), limit},
		"nested":           {replacing(times(40, nests)), limit},
		"in many overlays": {chain(40), limit},
		"of a transformer": {of("transformers:\n- |\n  apiVersion: builtin\n  kind: ReplacementTransformer\n"+
			"  metadata: {name: x}\n  replacements:\n  "+
			strings.ReplaceAll(strings.Repeat(doubles, 40), "\n", "\n  ")+"\n", configMap), limit},
		"a value in many places": {map[string]string{
			"top/kustomization.yaml": "resources: [x.yaml, y.yaml]\n" +
				"replacements: [{source: {kind: ConfigMap, name: z, fieldPath: data.a}, targets: [{select: " +
				"{name: x}, fieldPaths: [data.list.*]}]}]",
			"top/x.yaml": strings.Replace(configMap, "a: bbbbbbbb", "list: ["+strings.Repeat("a, ", 2000)+"a]", 1),
			"top/y.yaml": strings.Replace(strings.Replace(configMap, "name: x", "name: z", 1), "a: bbbbbbbb",
				"a: "+strings.Repeat("b", 1<<20), 1)}, limit},
		"a file that is loaded often": {map[string]string{
			"top/kustomization.yaml": "configMapGenerator: [{name: x, files: [a=x.txt" +
				strings.Repeat(", a=x.txt", 300) + "]}]", "top/x.txt": strings.Repeat("x", 1<<20)}, "."},
		"aliases": {of("", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"+
			"x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n"+laughs(9)), "with the aliases"},
		"a base very often":     {nested(6), limit},
		"20 patches of 10,000":  {of("patches:\n"+times(21, each), many(10_000)), limit},
		"300 of 300 of 3,000":   {of("patches:\n"+times(300, each), many(3_000)), limit},
		"a prefix of 1 MB":      {of("namePrefix: "+strings.Repeat("x", 1<<20)+"\n", many(2_000)), limit},
		"annotations of 400 KB": {of("commonAnnotations: {x: "+strings.Repeat("x", 400<<10)+"}\n", many(3_000)), limit},
		"labels of 300 KB":      {of("labels: [{pairs: {x: "+strings.Repeat("x", 300<<10)+"}}]\n", many(3_000)), limit},
		"a patch of 90 KB": {of("patches: [{target: {kind: ServiceMonitor}, patch: '[{\"op\": \"add\", \"path\": "+
			"\"/spec/jobLabel\", \"value\": \""+strings.Repeat("x", 90<<10)+"\"}]'}]\n", many(1_900)), limit},
	} {
		_, err := kustomize.Build(t.Context(), tree.New(t.Context(), files(c.files)), kustomize.Request{Folder: "top"},
			kustomize.Options{Kustomize: w})
		failed, ok := errors.AsType[*diag.Diagnostic](err)
		if !ok || path.Dir(failed.File) != "top" || !regexp.MustCompile(c.want).MatchString(failed.Message) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := ours(files(of("", monitor)), "top"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
