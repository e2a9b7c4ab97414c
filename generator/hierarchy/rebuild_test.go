package hierarchy

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// replaceable returns objects of all kinds. The version changes nothing that selectors see, except that labels or
// selectors change at random.
func replaceable(random *rand.Rand, version int) string {
	pick := func(options ...string) string { return options[random.Intn(max(1, len(options)*random.Intn(20)/19))] }
	var b strings.Builder
	object := func(group, kind, name, namespace, spec string) {
		b.WriteString(strings.Repeat("# moves what follows\n", random.Intn(2)))
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: %s, labels: {run: %s}, "+
			"annotations: {version: %q}}\n%s\n",
			group, kind, name, namespace, pick(`"yes"`, `"no"`), fmt.Sprint(version*random.Intn(2)), spec)
	}
	const grafana, prometheus = "monitoring.grafana.com/v1alpha1", "monitoring.coreos.com/v1"
	for _, ns := range []string{"one", "two"} {
		all := pick("{}", `{matchLabels: {run: "no"}}`)
		object(grafana, "GrafanaAgent", "agent", ns, `spec:
  metrics: {instanceSelector: {}, instanceNamespaceSelector: {}}
  logs: {instanceSelector: {}}
  integrations: {selector: {matchLabels: {run: "yes"}}, namespaceSelector: {}}`)
		object(grafana, "MetricsInstance", "main", ns, fmt.Sprintf(`spec:
  serviceMonitorSelector: %s
  serviceMonitorNamespaceSelector: {}
  podMonitorSelector: {}
  probeSelector: {matchLabels: {run: "yes"}}
  integrationMonitorSelector: {}`, all))
		object(grafana, "LogsInstance", "main", ns, "spec: {podLogsSelector: {}}")
		object(grafana, "PodLogs", "logs", ns, "spec: {selector: {}, pipelineStages: []}")
		object(grafana, "Integration", "i", ns, "spec: {name: redis, type: {unique: false}, config: {}}")
		object(grafana, "MetricsIntegration", "m", ns, "spec: {name: mysql}")
		object(grafana, "IntegrationMonitor", "c", ns,
			fmt.Sprintf("spec: {selector: {matchLabels: {run: %q}}}", []string{"yes", "no"}[random.Intn(2)]))
		object(prometheus, "ServiceMonitor", "a", ns, "spec: {selector: {}, endpoints: []}")
		object(prometheus, "ServiceMonitor", "b", ns, "spec: {selector: {}, endpoints: []}")
		object(prometheus, "PodMonitor", "a", ns, "spec: {selector: {}, podMetricsEndpoints: []}")
		object(prometheus, "Probe", "p", ns, "spec: {prober: {url: p}, targets: {}}")
		object("v1", "Secret", "s", ns, "stringData: {}")
	}
	return b.String()
}

// TestReplacedObjectsAreWhereBuildPutsThem: a hierarchy with replaced objects equals a newly built one, and a
// hierarchy without any stays the same value.
func TestReplacedObjectsAreWhereBuildPutsThem(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	replaced, kept := 0, 0
	set := parse(t, replaceable(random, 1))
	before := Build(set, nil)
	for step := range 500 {
		var changed []*manifest.Object
		for _, o := range parse(t, replaceable(random, step)).All() {
			if random.Intn(20) == 0 {
				changed = append(changed, o)
			}
		}
		next, ok := set.Replace(changed)
		if !ok {
			t.Fatal("another set")
		}
		changes, ok := next.Replaced(set)
		if !ok || len(changes) != len(changed) {
			t.Fatalf("step %d: %d of %d objects are replaced", step, len(changes), len(changed))
		}
		fresh := Build(next, nil)
		if again, ok := Rebuild(before, changes); ok {
			replaced++
			if diff := cmp.Diff(told(fresh), told(again)); diff != "" {
				t.Fatalf("step %d, %v (-built +replaced):\n%s", step, changed, diff)
			}
			for i, h := range again {
				if told(again[i : i+1])[0] == told(before[i : i+1])[0] {
					kept++
					if h != before[i] {
						t.Fatalf("step %d: the hierarchy of %s is a new one without need", step, h.Name())
					}
				}
			}
			fresh = again
		}
		set, before = next, fresh
	}
	if replaced < 100 || kept < 100 {
		t.Errorf("objects were replaced in %d steps, and %d hierarchies kept", replaced, kept)
	}
}

// told returns everything that hierarchies say.
func told(list []*Hierarchy) []string {
	var out []string
	for _, h := range list {
		var b strings.Builder
		for o := range h.Objects {
			fmt.Fprintf(&b, "%s %p\n", o.ID, o)
		}
		for _, d := range h.Diags {
			fmt.Fprintf(&b, "%s %s\n", d, d.Hint)
		}
		out = append(out, b.String())
	}
	return out
}

// TestSharedListsStayShared: thousands of instances may select the same monitors.
func TestSharedListsStayShared(t *testing.T) {
	const instance = "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
		"metadata: {name: %s, namespace: one}\n" +
		"spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}}\n"
	const monitors = "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
		"metadata: {name: a, namespace: one}\nspec: {selector: {}, endpoints: []}\n"
	const agents = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
		"metadata: {name: agent, namespace: one}\nspec: {metrics: {instanceSelector: {}}}\n"
	set := parse(t, agents+fmt.Sprintf(instance, "i")+fmt.Sprintf(instance, "j")+monitors)
	o := set.Kind("ServiceMonitor")[0]
	replaced := *o
	again, ok := Rebuild(Build(set, nil), map[*manifest.Object]*manifest.Object{o: &replaced})
	if !ok {
		t.Fatal("the monitor is not replaced")
	}
	i, j := again[0].Metrics[0].ServiceMonitors, again[0].Metrics[1].ServiceMonitors
	if i[0] != &replaced || &i[0] != &j[0] {
		t.Error("the two have lists of their own now")
	}
}

func TestManyReplacedObjectsAreNotLookedFor(t *testing.T) {
	monitor := func() *manifest.Object {
		return &manifest.Object{ID: manifest.ID{Kind: "ServiceMonitor"}}
	}
	replaced := map[*manifest.Object]*manifest.Object{}
	for len(replaced) < maxReplaced {
		replaced[monitor()] = monitor()
	}
	if _, ok := Rebuild(nil, replaced); !ok {
		t.Error("at the limit: they are not")
	}
	replaced[monitor()] = monitor()
	if _, ok := Rebuild(nil, replaced); ok {
		t.Error("above it: they are")
	}
}
