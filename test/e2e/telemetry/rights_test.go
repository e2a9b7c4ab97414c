package telemetry

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const pipelineWithRights = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: rights}
spec:
  rbac: render
  sources: [{url: "file://FOLDER", ref: {branch: main}}]
  output: {branch: output}
`

// pass is what a pass of a pipeline with the settings would write that renders rights: those come first, as Flux
// applies them.
func (m *manifests) pass(t *testing.T, settings ...string) []*unstructured.Unstructured {
	t.Helper()
	gitops.Git(t, m.dir, "init", "-q", "-b", "main")
	gitops.Git(t, m.dir, "add", "--all")
	gitops.Git(t, m.dir, "commit", "-q", "-m", "All")
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	text := strings.Replace(pipelineWithRights, "FOLDER", m.dir, 1)
	for _, s := range settings {
		text += "  " + s + "\n"
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rights, others := split(run(t, harness.Agentry(), "render", "-f", file, "--cache-dir", t.TempDir()))
	return append(rights, others...)
}

// split tells the objects that give rights from others.
func split(objects []*unstructured.Unstructured) (rights, others []*unstructured.Unstructured) {
	for _, o := range objects {
		if strings.HasPrefix(o.GetAPIVersion(), "rbac.") || o.GetKind() == "ServiceAccount" {
			rights = append(rights, o)
			continue
		}
		others = append(others, o)
	}
	return rights, others
}

// lesser is an agent that lacks a right of those that are computed.
type lesser struct {
	name      string
	namespace string // of the account
	// right is what it lacks: to list and watch a resource in a namespace, or everywhere.
	right, resource string
}

// runWithLess runs an agent for each resource of each rule that is computed for the agents of a folder of testdata: it
// has all rights but the one to that resource, and scrapes as a single shard.
func (w *testbed) runWithLess(t *testing.T, folder, namespace string) (agents []lesser) {
	t.Helper()
	m := newManifests(t, folder)
	(&gitops.User{Dir: m.dir}).Edit(t, "agent.yaml", "shards: 2", "shards: 1")
	rights, others := split(m.pass(t, "compatibility: current"))
	for _, role := range rights {
		rules, _, err := unstructured.NestedSlice(role.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		for i, rule := range rules {
			resources, _, err := unstructured.NestedSlice(rule.(map[string]any), "resources")
			if err != nil {
				t.Fatal(err)
			}
			for r, resource := range resources {
				where := cmp.Or(role.GetNamespace(), "all namespaces")
				a := lesser{fmt.Sprintf("less-%d", len(agents)), namespace, fmt.Sprintf("%s in %s", resource, where),
					resource.(string)}
				less := maps.Clone(rule.(map[string]any))
				less["resources"] = slices.Delete(slices.Clone(resources), r, r+1)
				changed := slices.Clone(rules)
				if changed[i] = less; len(resources) == 1 {
					changed = slices.Delete(changed, i, i+1)
				}
				w.apply(t, a.rights(rights, role, changed))
				w.runAs(t, a.name, namespace, folder, others)
				agents = append(agents, a)
			}
		}
	}
	w.runs(t, namespace, "less-", len(agents))
	return agents
}

// rights are those of an account of its own, with other rules in one of the roles.
func (a lesser) rights(rights []*unstructured.Unstructured, role *unstructured.Unstructured,
	rules []any) (out []*unstructured.Unstructured) {
	for _, of := range rights {
		o := of.DeepCopy()
		o.SetName(a.name)
		if of == role {
			o.Object["rules"] = rules
		}
		if strings.HasSuffix(o.GetKind(), "Binding") {
			o.Object["roleRef"].(map[string]any)["name"] = a.name
			o.Object["subjects"].([]any)[0].(map[string]any)["name"] = a.name
		}
		out = append(out, o)
	}
	return out
}

// runAs runs a pod of a StatefulSet under another account, with a configuration of its own, whose series say whose they
// are.
func (w *testbed) runAs(t *testing.T, name, namespace, cluster string, objects []*unstructured.Unstructured) {
	t.Helper()
	var set appsv1.StatefulSet
	for _, o := range objects {
		switch o.GetKind() {
		case "StatefulSet":
			convert(t, o, &set)
		case "Secret":
			var s corev1.Secret
			convert(t, o, &s)
			for key, text := range s.StringData {
				s.StringData[key] = strings.ReplaceAll(text, "cluster: "+cluster, "cluster: "+name)
			}
			w.create(t, &corev1.Secret{TypeMeta: s.TypeMeta, StringData: s.StringData, Data: s.Data}, name+"-"+s.Name,
				namespace)
		}
	}
	spec := set.Spec.Template.Spec
	spec.ServiceAccountName = name
	for i, v := range spec.Volumes {
		if v.Secret != nil {
			spec.Volumes[i].Secret.SecretName = name + "-" + v.Secret.SecretName
		}
	}
	w.create(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Spec: spec}, name+"-0", namespace)
}

// lose holds agents that lack a right to the targets that they should lose, by which the right is needed. The API
// server has refused each of them what it lacks.
func (w *testbed) lose(t *testing.T, cluster string, agents []lesser) {
	t.Helper()
	all, err := targets(cluster)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rights.txt", func() (lines []string, err error) {
		for _, a := range agents {
			found, err := targets(a.name)
			if err != nil {
				return nil, err
			}
			if !a.isRefused(t) {
				return nil, fmt.Errorf("%s, which lacks %s, was refused nothing", a.name, a.right)
			}
			for _, target := range all {
				if !slices.Contains(found, target) {
					lines = append(lines, "without "+a.right+": "+target)
				}
			}
		}
		slices.Sort(lines)
		return lines, nil
	})
	lost := string(read(t, filepath.Join("testdata", "rights.txt")))
	for _, a := range agents {
		if !strings.Contains(lost, "without "+a.right+": ") {
			t.Errorf("nothing is lost without %s", a.right)
		}
	}
}

// isRefused reports whether the API server has refused an agent what it lacks, and nothing else.
func (a lesser) isRefused(t *testing.T) bool {
	t.Helper()
	_, forbidden := cluster.Uses(t, a.namespace, a.name)
	return len(forbidden) > 0 && !slices.ContainsFunc(forbidden, func(use string) bool {
		return strings.Fields(use)[1] != a.resource
	})
}

// targets are those that are scraped, by job and address, each once.
func targets(cluster string) (out []string, err error) {
	ups, err := delivered(fmt.Sprintf(`cluster=%q,__name__="up"`, cluster))
	for _, up := range ups {
		out = append(out, up.labels["job"]+" "+up.labels["instance"])
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
