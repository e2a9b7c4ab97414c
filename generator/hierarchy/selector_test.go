package hierarchy

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

func parse(t testing.TB, text string) *manifest.Set {
	t.Helper()
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	for _, d := range r.Diags {
		if d.Severity == diag.Error {
			t.Fatal(d)
		}
	}
	return manifest.NewSet(r)
}

const fleet = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: own}
spec: {metrics: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: own}
spec: {serviceMonitorSelector: %s, serviceMonitorNamespaceSelector: %s}
---
apiVersion: v1
kind: Namespace
metadata: {name: labelled, labels: {team: x, kubernetes.io/metadata.name: forged}}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: a, namespace: own, labels: {app: a}}
spec: {selector: {}, endpoints: []}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: b, namespace: labelled, labels: {app: b}}
spec: {selector: {}, endpoints: []}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: c, namespace: bare}
spec: {selector: {}, endpoints: []}
`

func TestSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		labels, namespaces string
		want               []string
		codes              []diag.Code
	}{
		"an absent selector selects nothing": {"null", "{}", nil, []diag.Code{diag.SelectsNothing}},
		"an empty one selects everything": {"{}", "{}", []string{"bare/c", "labelled/b", "own/a"},
			nil},
		"an absent namespace selector is the own namespace": {"{}", "null", []string{"own/a"}, nil},
		"labels": {"{matchLabels: {app: b}}", "{}", []string{"labelled/b"}, nil},
		"NotIn matches what lacks the label": {"{matchExpressions: [{key: app, operator: NotIn, values: [b]}]}", "{}",
			[]string{"bare/c", "own/a"}, nil},
		"DoesNotExist": {"{matchExpressions: [{key: app, operator: DoesNotExist}]}", "{}",
			[]string{"bare/c"}, nil},
		"the labels of a Namespace": {"{}", "{matchLabels: {team: x}}", []string{"labelled/b"},
			[]diag.Code{diag.UnknownNamespace}},
		"the name of a namespace is a label without manifest": {"{}",
			"{matchLabels: {kubernetes.io/metadata.name: bare}}", []string{"bare/c"}, nil},
		"the name label cannot be forged": {"{}",
			"{matchLabels: {kubernetes.io/metadata.name: forged}}", nil, []diag.Code{diag.SelectsNothing}},
		"no namespace is one warning": {"{matchLabels: {app: a}}",
			"{matchLabels: {kubernetes.io/metadata.name: gone}}", nil, []diag.Code{diag.SelectsNothing}},
		"a typo": {"{matchLabels: {app: typo}}", "{}", nil,
			[]diag.Code{diag.SelectsNothing}},
		"an unknown operator": {"{matchExpressions: [{key: app, operator: Is}]}", "{}",
			nil, []diag.Code{diag.InvalidSelector}},
		"In without values": {"{matchExpressions: [{key: app, operator: In}]}", "{}",
			nil, []diag.Code{diag.InvalidSelector}},
		"Exists with values": {
			"{matchExpressions: [{key: app, operator: Exists, values: [a]}]}", "{}", nil,
			[]diag.Code{diag.InvalidSelector}},
		"a bad key in the namespace selector": {"{}", "{matchLabels: {a b: x}}", nil,
			[]diag.Code{diag.InvalidSelector}},
	} {
		t.Run(name, func(t *testing.T) {
			h := Build(parse(t, fmt.Sprintf(fleet, c.labels, c.namespaces)), nil)[0]
			var got []string
			for _, o := range h.Metrics[0].ServiceMonitors {
				got = append(got, o.Namespace+"/"+o.Name)
			}
			var codes []diag.Code
			for _, d := range h.Diags {
				codes = append(codes, d.Code)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("selected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.codes, codes); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatASelectorWouldFindElsewhere holds the hints of selectors that look in the wrong namespaces.
func TestWhatASelectorWouldFindElsewhere(t *testing.T) {
	const path = "spec.serviceMonitorNamespaceSelector"
	for name, c := range map[string]struct {
		labels, namespaces, want string
	}{
		"one, without a namespace selector": {"{matchLabels: {app: b}}", "null",
			"1 in another namespace has them, labelled/b: set " + path + " ({} is all namespaces)"},
		"several": {"{matchExpressions: [{key: app, operator: NotIn, values: [a]}]}", "null",
			"2 in other namespaces have them, such as bare/c: set " + path + " ({} is all namespaces)"},
		"with a namespace selector": {"{matchLabels: {app: b}}", "{matchLabels: {kubernetes.io/metadata.name: bare}}",
			"1 in another namespace has them, labelled/b: widen " + path},
		"none anywhere":           {"{matchLabels: {app: typo}}", "null", ""},
		"none, looked everywhere": {"{matchLabels: {app: typo}}", "{}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := Build(parse(t, fmt.Sprintf(fleet, c.labels, c.namespaces)), nil)[0]
			if len(h.Diags) != 1 || h.Diags[0].Code != diag.SelectsNothing || h.Diags[0].Hint != c.want {
				t.Errorf("hint %q, want %q; %v", h.Diags[0].Hint, c.want, h.Diags)
			}
		})
	}
}

// TestOfTwoKindsOneIsEnough holds the hint of the only selector of two kinds.
func TestOfTwoKindsOneIsEnough(t *testing.T) {
	h := Build(parse(t, `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: own}
spec: {integrations: {selector: {matchLabels: {a: b}}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsIntegration
metadata: {name: m, namespace: other, labels: {a: b}}
spec: {name: mysql}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: Integration
metadata: {name: i, namespace: other, labels: {a: b}}
spec: {name: redis, type: {unique: false}, config: {}}
`), nil)[0]
	want := "2 in other namespaces have them, such as other/i: set spec.integrations.namespaceSelector ({} is all " +
		"namespaces)"
	if len(h.Diags) != 1 || h.Diags[0].Hint != want {
		t.Errorf("hint %q, want %q; %v", h.Diags[0].Hint, want, h.Diags)
	}
}

// TestEveryParentWithTheSelectorGetsTheWarning holds that a selector that was seen before warns again.
func TestEveryParentWithTheSelectorGetsTheWarning(t *testing.T) {
	text := fmt.Sprintf(fleet, "{}", "{matchLabels: {kubernetes.io/metadata.name: gone}}")
	second := strings.Split(text, "---\n")[1]
	text += "---\n" + strings.Replace(second, "name: i,", "name: j,", 1)
	h := Build(parse(t, text), nil)[0]
	if n := len(h.Diags); n != 2 {
		t.Errorf("%d diagnostics for two instances: %v", n, h.Diags)
	}
}

// FuzzSelector holds that no selector makes the index panic, and that it finds the same as comparing everything.
func FuzzSelector(f *testing.F) {
	for _, seed := range [][4]string{
		{"a", "In", "1,2", "b=3"}, {"a", "NotIn", "1", ""}, {"a", "Exists", "", "c=1"}, {"b", "DoesNotExist", "", ""},
		{"", "In", "", "="}, {"a/b/c", "Exists", "x", "é=ü"}, {"a", "in", "1", ""}, {"a", "In", ",", "a="},
		{"kubernetes.io/x", "In", "-", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	objects := randomMonitors(rand.New(rand.NewSource(7)), scanLimit+50, 5)
	parent := parse(f, fmt.Sprintf(fleet, "{}", "{}")).Kind("GrafanaAgent")[0]
	f.Fuzz(func(t *testing.T, key, operator, values, label string) {
		s := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key,
			Operator: metav1.LabelSelectorOperator(operator)}}}
		if values != "" {
			s.MatchExpressions[0].Values = strings.Split(values, ",")
		}
		if k, v, ok := strings.Cut(label, "="); ok {
			s.MatchLabels = map[string]string{k: v}
		}
		var diags diag.List
		q := query{builder: &builder{}, parent: parent, diags: &diags}
		selector := q.parse("spec.x", s)
		if (selector == nil) != diags.HasErrors() {
			t.Fatalf("selector %v, diagnostics %v", selector, diags)
		}
		if selector == nil {
			return
		}
		ix := newIndex(objects)
		if want, got := bruteForce(objects, nil, true, s), ix.everywhere(selector); !slices.Equal(want, got) {
			t.Errorf("%s: %d objects by brute force, %d by the index", selector, len(want), len(got))
		}
	})
}

// TestTheNamespaceOfTheOnlyInstanceIsMisspelt holds the hint of a GrafanaAgent that selects everything and finds
// nothing.
func TestTheNamespaceOfTheOnlyInstanceIsMisspelt(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]string{
		"monitorng": "did you mean namespace monitoring for MetricsInstance/monitorng/primary (in.yaml:8)?",
		"team-shop": "",
	} {
		h := Build(parse(t, `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec: {metrics: {instanceSelector: {}}, logs: {instanceSelector: {}}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: primary, namespace: `+namespace+`}
spec: {serviceMonitorSelector: {}}
`), nil)[0]
		if len(h.Diags) != 1 || h.Diags[0].Code != diag.RendersNothing || h.Diags[0].Hint != want {
			t.Errorf("%s: want the hint %q, got %v", namespace, want, h.Diags)
		}
	}
}
