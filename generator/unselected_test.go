package generator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// ofUnselected returns the findings about what nothing selects.
func ofUnselected(list diag.List) (out diag.List) {
	for _, d := range list {
		if d.Code == diag.Unselected {
			out = append(out, d)
		}
	}
	return out
}

// TestManyUnselectedAreCounted: up to the limit each has a finding, and above it one more counts the others.
func TestManyUnselectedAreCounted(t *testing.T) {
	agent, all := fleet(generator.MaxUnselected + 2)
	for more := range 3 {
		files := []manifest.File{{Path: agent.Path,
			Data: []byte(strings.Replace(string(agent.Data), "platform", "other", 1))}}
		set := loadAll(append(files, all[:generator.MaxUnselected+more]...))
		found := ofUnselected(generator.Render(set, generator.Options{}, nil).Diags)
		counts := 0
		for _, d := range found {
			if strings.HasSuffix(d.Message, fmt.Sprintf("and %d more objects are not selected; agentry tree lists them",
				more-1)) {
				counts++
			}
		}
		if len(found) != generator.MaxUnselected+min(more, 1) || counts != max(more-1, 0) {
			t.Errorf("%d above the limit: %d findings, of which %d count others", more, len(found), counts)
		}
	}
}

// TestErrorsHideWhatSelects: an object may be selected by what has an error, which is told already.
func TestErrorsHideWhatSelects(t *testing.T) {
	const (
		agent = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
			"metadata: {name: %s, namespace: m}\nspec: {metrics: {instanceSelector: {matchLabels: {of: %[1]s}}}%s}\n"
		instance = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
			"metadata: {name: %s, namespace: m, labels: {of: a}}\nspec: {serviceMonitorSelector: %s, " +
			"serviceMonitorNamespaceSelector: {matchLabels: {team: shop}}, remoteWrite: [{url: 'https://a/push'}]%s}\n"
		monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n" +
			"metadata: {name: s, namespace: shop, labels: {a: b}}\nspec: {selector: {}, endpoints: [{port: web}]}\n"
		probe = "apiVersion: monitoring.coreos.com/v1\nkind: Probe\nmetadata: {name: p, namespace: shop}\n" +
			"spec: {prober: {url: 'b:1'}, targets: {staticConfig: {static: [a]}}}\n"
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: %s}}\n"
	)
	good := fmt.Sprintf(agent, "a", "") + "---\n" + fmt.Sprintf(instance, "i", "{matchLabels: {a: c}}", "") + "---\n" +
		monitor + "---\n"
	for name, test := range map[string]struct {
		text string
		want string // the kinds of the findings
	}{
		"nothing is wrong": {good + fmt.Sprintf(namespace, "shop"), "ServiceMonitor"},
		"an instance is left out": {good + fmt.Sprintf(namespace, "shop") + "---\n" +
			fmt.Sprintf(instance, "j", "{}", ", unknown: 1"), ""},
		"an instance is not read": {good + fmt.Sprintf(namespace, "shop") + "---\n" +
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstances\nmetadata: {name: j, namespace: m}\n", ""},
		"a GrafanaAgent is left out": {good + fmt.Sprintf(namespace, "shop") + "---\n" +
			fmt.Sprintf(agent, "b", ", unknown: 1"), ""},
		"a document is not read": {good + fmt.Sprintf(namespace, "shop") + "---\nkind: [\n", ""},
		"a selector is invalid": {good + fmt.Sprintf(namespace, "shop") + "---\n" + probe + "---\n" +
			fmt.Sprintf(instance, "j", "{matchExpressions: [{key: a, operator: In}]}", ""), "Probe"},
		"the Namespace is left out": {good + fmt.Sprintf(namespace, "[]"), ""},
		"another Namespace is left out": {good + fmt.Sprintf(namespace, "shop") + "---\n" +
			strings.Replace(fmt.Sprintf(namespace, "[]"), "name: shop", "name: other", 1), "ServiceMonitor"},
		"the only GrafanaAgent is missing": {monitor, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := renderAll([]manifest.Result{manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(test.text)},
				manifest.Options{})}, generator.Options{})
			var kinds []string
			for _, d := range ofUnselected(out.Diags) {
				kinds = append(kinds, d.Object.Kind)
			}
			if got := strings.Join(kinds, " "); got != test.want {
				t.Errorf("got %q, want %q:\n%v", got, test.want, out.Diags)
			}
		})
	}
}
