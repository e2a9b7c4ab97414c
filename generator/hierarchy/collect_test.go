package hierarchy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// integrations is one GrafanaAgent with two MetricsIntegrations and an Integration, and
// whatever monitors a test adds.
const integrations = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: own}
spec:
  metrics: {instanceSelector: {}%s}
  integrations: {selector: {matchLabels: {run: "yes"}}, namespaceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: own}
spec: {integrationMonitorSelector: {}, integrationMonitorNamespaceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: b, namespace: shop, labels: {run: "yes", team: shop}}
spec: {name: mysql}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: b, namespace: shop, labels: {run: "yes"}}
spec: {name: redis, type: {unique: false}, config: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: a, namespace: own, labels: {run: "yes", team: platform}}
spec: {name: mysql}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: c, namespace: own, labels: {run: "no"}}
spec: {name: mysql}
`

func monitor(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: IntegrationMonitor\n"+
		"metadata: {name: %s, namespace: own}\nspec: {%s}\n", name, spec)
}

func TestBothKindsOfIntegrationsAreSelected(t *testing.T) {
	h := Build(parse(t, fmt.Sprintf(integrations, "")+monitor("m", "selector: {}")), nil)[0]
	var got []string
	for o := range h.Objects {
		got = append(got, o.ID.String())
	}
	want := []string{
		"GrafanaAgent/own/agent", "MetricsInstance/own/i", "IntegrationMonitor/own/m",
		"MetricsIntegration/own/a", "Integration/shop/b", "MetricsIntegration/shop/b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOnlyOneKindNeedsToMatch(t *testing.T) {
	for kind, want := range map[string]int{"Integration": 0, "MetricsIntegration": 0, "PodLogs": 1} {
		text := strings.Replace(fmt.Sprintf(integrations, ""), "kind: MetricsInstance\n", "kind: Unread\n", 1)
		var kept []string
		for _, doc := range strings.Split(text, "---\n") {
			if strings.Contains(doc, "kind: GrafanaAgent") || strings.Contains(doc, "kind: "+kind+"\n") {
				kept = append(kept, doc)
			}
		}
		h := Build(parse(t, strings.Join(kept, "---\n")), nil)[0]
		got := 0
		for _, d := range h.Diags {
			if strings.Contains(d.Problem(),
				"selects no Integration or MetricsIntegration: there is none in the namespaces it looks in") {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d warnings, want %d: %v", kind, got, want, h.Diags)
		}
	}
}

func TestUncollectedIntegrationsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		agent, monitors string
		want            []string
	}{
		"all are collected": {"", monitor("m", "selector: {}, namespaceSelector: {any: true}"), nil},
		"the own namespace is what an absent selector means": {"", monitor("m", "selector: {}"), []string{
			"MetricsIntegration/shop/b:not-collected: IntegrationMonitor/own/m selects its labels, but looks only in " +
				"own: see its namespaceSelector",
		}},
		"by name": {"", monitor("m", "selector: {}, namespaceSelector: {matchNames: [shop, own]}"), nil},
		"a typo in a label": {"", monitor("m", "selector: {matchLabels: {team: shpo}}, namespaceSelector: {any: true}"),
			[]string{
				"IntegrationMonitor/own/m:selects-nothing", "MetricsIntegration/own/a:not-collected",
				"MetricsIntegration/shop/b:not-collected",
			}},
		"a typo in a namespace": {"", monitor("m", "selector: {}, namespaceSelector: {matchNames: [shpo]}"), []string{
			"IntegrationMonitor/own/m:selects-nothing",
			"MetricsIntegration/own/a:not-collected: IntegrationMonitor/own/m selects its labels, but looks only in " +
				"shpo: see its namespaceSelector",
			"MetricsIntegration/shop/b:not-collected: IntegrationMonitor/own/m selects its labels, but looks only in " +
				"shpo: see its namespaceSelector",
		}},
		"what is not selected by the agent does not count": {"",
			monitor("m", `selector: {matchLabels: {run: "no"}}`) +
				monitor("m2", "selector: {}, namespaceSelector: {any: true}"), []string{
				"IntegrationMonitor/own/m:selects-nothing",
			}},
		"two monitors share the work": {"",
			monitor("m", "selector: {matchLabels: {team: shop}}, namespaceSelector: {any: true}") +
				monitor("m2", "selector: {matchExpressions: [{key: team, operator: NotIn, values: [shop]}]}"), nil},
		"ignored namespace selectors": {", ignoreNamespaceSelectors: true",
			monitor("m", "selector: {}, namespaceSelector: {any: true}"), []string{
				"MetricsIntegration/shop/b:not-collected: IntegrationMonitor/own/m selects its labels, but looks " +
					"only in " +
					"own: see its namespaceSelector",
			}},
		"no monitor at all is one warning": {"", "", []string{
			"GrafanaAgent/own/agent:not-collected: let the integrationMonitorSelector of one of them choose an " +
				"IntegrationMonitor that selects these",
		}},
		"of all agents": {"",
			monitor("m", "scope: all, selector: {}, namespaceSelector: {any: true}"), nil},
		"of all agents, nothing here": {"", monitor("m", "scope: all, selector: {matchLabels: {a: b}}"),
			[]string{"MetricsIntegration/own/a:not-collected", "MetricsIntegration/shop/b:not-collected"}},
		"an invalid selector says enough": {"", monitor("m", "selector: {matchExpressions: [{key: a, operator: In}]}"),
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := Build(parse(t, fmt.Sprintf(integrations, c.agent)+c.monitors), nil)[0]
			h.Diags.Sort()
			got := map[string]bool{}
			for _, d := range h.Diags {
				line := d.Object.String() + ":" + string(d.Code)
				if d.Hint != "" {
					line += ": " + d.Hint
				}
				got[line] = true
			}
			want := map[string]bool{}
			for _, line := range c.want {
				want[line] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s\n%v", diff, h.Diags)
			}
		})
	}
}

func TestMonitorsOfAnotherAgentCollectForAll(t *testing.T) {
	other := `---
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: other, namespace: other}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: other}
spec: {integrationMonitorSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: IntegrationMonitor
metadata: {name: all, namespace: other}
spec: {scope: %s, selector: {}, namespaceSelector: {any: true}}
`
	for scope, want := range map[string][]string{
		"all": nil,
		"own": {"own/agent: GrafanaAgent/own/agent"}, // an empty selector is no typo
	} {
		var got []string
		text := strings.Replace(fmt.Sprintf(integrations, "")+fmt.Sprintf(other, scope),
			", integrationMonitorNamespaceSelector: {}", "", 1)
		for _, h := range Build(parse(t, text), nil) {
			for _, d := range h.Diags {
				got = append(got, h.Name()+": "+d.Object.String())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("scope %s (-want +got):\n%s", scope, diff)
		}
	}
}

// TestTheWarningNamesTheFirstUncollectedIntegrations holds what the one warning about all of them says.
func TestTheWarningNamesTheFirstUncollectedIntegrations(t *testing.T) {
	more := "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsIntegration\n" +
		"metadata: {name: %s, namespace: shop, labels: {run: \"yes\"}}\nspec: {name: mysql}\n"
	text := fmt.Sprintf(integrations, "")
	for added, want := range map[string]string{
		"":                                  "(own/a, shop/b)",
		fmt.Sprintf(more, "c"):              "(own/a, shop/b, shop/c)",
		fmt.Sprintf(more+more, "c", "d"):    "(own/a, shop/b, shop/c and 1 more)",
		fmt.Sprintf(more+more, "aa", "zzz"): "(own/a, shop/aa, shop/b and 1 more)",
	} {
		h := Build(parse(t, text+added), nil)[0]
		want = "spec.integrations.selector: selects MetricsIntegrations that nobody collects " + want +
			": none of its MetricsInstances selects an IntegrationMonitor"
		if len(h.Diags) != 1 || h.Diags[0].Problem() != want {
			t.Errorf("got %v, want %s", h.Diags, want)
		}
	}
}

// TestPositionsOfCollectionWarnings holds where the warnings point.
func TestPositionsOfCollectionWarnings(t *testing.T) {
	text := fmt.Sprintf(integrations, "") +
		monitor("m", "selector: {matchLabels: {team: shpo}}, namespaceSelector: {any: true}")
	h := Build(parse(t, text), nil)[0]
	h.Diags.Sort()
	var got []string
	for _, d := range h.Diags {
		got = append(got, d.String())
	}
	want := []string{
		"in.yaml:15:38: warning[not-collected]: metadata.labels: no IntegrationMonitor of GrafanaAgent own/agent " +
			"selects it: it runs, and nobody collects its metrics",
		"in.yaml:25:37: warning[not-collected]: metadata.labels: no IntegrationMonitor of GrafanaAgent own/agent " +
			"selects it: it runs, and nobody collects its metrics",
		"in.yaml:36:8: warning[selects-nothing]: spec.selector: selects no MetricsIntegration of GrafanaAgent " +
			"own/agent: of 2 in the namespaces it looks in, none has labels team=shpo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
