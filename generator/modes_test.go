package generator_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestModesHaveTheSamePods renders every fixture in both modes. A switch is a reload of the agents and no rollout: but
// for the text of configurations, and for Secrets in general, the files of a unit are the same byte for byte. The
// exceptions are those of docs/migration.md: zones, version 2.0 of the remote-write protocol in Alloy, and under the
// policy reference what pods mount.
func TestModesHaveTheSamePods(t *testing.T) {
	compared := 0
	for name, read := range switchable(t) {
		for _, policy := range policies() {
			before, after := read(manifest.Operator, policy), read(manifest.Current, policy)
			known := policy == secretref.Reference &&
				slices.ContainsFunc(slices.Concat(before.Diags, after.Diags), explainsMounts)
			for i, u := range before.Units {
				if len(workloads(u)) == 0 || len(workloads(after.Units[i])) == 0 { // one mode refuses the GrafanaAgent
					continue
				}
				compared++
				if diff := rollout(t, u, after.Units[i], known); diff != "" {
					t.Errorf("%s, %s, unit %s: a switch would be a rollout (-operator +current):\n%s", name, policy,
						u.Name, diff)
				}
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d units were compared", compared)
	}
}

// explainsMounts reports whether a finding says why the modes mount different Secrets.
func explainsMounts(d diag.Diagnostic) bool {
	return d.Severity == diag.Error || d.Code == diag.NotRendered ||
		strings.HasPrefix(d.Message, "ScrapeConfigs are ignored")
}

// switchable are all fixtures, as functions that render them.
func switchable(t *testing.T) map[string]func(manifest.Compatibility, secretref.Policy) *generator.Output {
	t.Helper()
	all := map[string]func(manifest.Compatibility, secretref.Policy) *generator.Output{}
	add := func(name, comment string, files ...manifest.File) {
		all[name] = func(mode manifest.Compatibility, policy secretref.Policy) *generator.Output {
			opts := scenarioOptions(t, comment)
			opts.Compatibility, opts.Secrets, opts.RestartOnSecretChange = mode, policy, false
			var results []manifest.Result
			for _, f := range files {
				results = append(results, manifest.Parse(f,
					manifest.Options{Compatibility: mode, UnknownFields: manifest.IgnoreUnknownFields}))
			}
			return renderAll(results, opts)
		}
	}
	for _, c := range corpora(t) {
		add(c.name, c.opts, c.files...)
	}
	for _, pattern := range []string{filepath.Join(corpus, "*", "input.yaml"),
		filepath.Join(currentCorpus, "*", "input.yaml")} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			add(file, "", manifest.File{Path: "input.yaml", Data: withAgents(t, read(t, file))})
		}
	}
	for _, name := range []string{"quickstart", "platform"} {
		all[name] = func(mode manifest.Compatibility, policy secretref.Policy) *generator.Output {
			return example(t, name, generator.Options{Compatibility: mode, Secrets: policy})
		}
	}
	return all
}

// rollout returns how the files of a unit differ that are not Secrets.
func rollout(t *testing.T, before, after *generator.Unit, mounts bool) string {
	t.Helper()
	a, b := workloads(before), workloads(after)
	for name := range a {
		if b[name] == a[name] {
			delete(a, name)
			delete(b, name)
		}
	}
	zones := func(text string) bool { return strings.Contains(text, "TOPOLOGY_ZONE") }
	parsed := func(files map[string]string, of map[string]string) map[string]any {
		out := map[string]any{}
		for name, text := range files {
			var o map[string]any
			if err := yaml.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			if template, _, _ := unstructured.NestedMap(o, "spec", "template", "spec"); template != nil {
				withoutExceptions(template, mounts, zones(of[name]))
				_ = unstructured.SetNestedMap(o, template, "spec", "template", "spec")
			}
			out[name] = o
		}
		return out
	}
	return cmp.Diff(parsed(a, b), parsed(b, b))
}

// workloads are the files of a unit that are not Secrets.
func workloads(u *generator.Unit) map[string]string {
	out := map[string]string{}
	for _, f := range u.Files {
		if f.Object.Kind != "Secret" && f.Path != generator.KustomizationFile {
			out[f.Path] = string(f.Data)
		}
	}
	return out
}

// withoutExceptions takes from a pod what it may mount of Secrets, and what puts it into a zone.
func withoutExceptions(pod map[string]any, mounts, zones bool) {
	drop := func(o map[string]any, list string, gone func(name string) bool) {
		items, _ := o[list].([]any)
		if items = slices.DeleteFunc(items, func(item any) bool {
			return gone(item.(map[string]any)["name"].(string))
		}); len(items) > 0 {
			o[list] = items
		} else {
			delete(o, list)
		}
	}
	isMount := func(name string) bool { return mounts && name == "secrets" }
	drop(pod, "volumes", isMount)
	for _, c := range pod["containers"].([]any) {
		drop(c.(map[string]any), "volumeMounts", isMount)
		if args, _ := c.(map[string]any)["args"].([]any); args != nil {
			c.(map[string]any)["args"] = slices.DeleteFunc(args, func(arg any) bool {
				return arg == "--stability.level=experimental"
			})
		}
		drop(c.(map[string]any), "env", func(name string) bool {
			return mounts && strings.HasPrefix(name, "AGENTRY_") ||
				zones && (name == "TOPOLOGY_ZONE" || name == "INZONE_SHARD")
		})
	}
	if nodes, _ := pod["nodeSelector"].(map[string]any); zones && nodes != nil {
		if delete(nodes, "topology.kubernetes.io/zone"); len(nodes) == 0 {
			delete(pod, "nodeSelector")
		}
	}
}
