package gitsync_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/inputs/helm"
)

// chartsEnv makes this program the one that renders charts.
const chartsEnv = "AGENTRY_TEST_CHARTS"

// TestChartsOfKustomizations: what a chart gives is like what stands there, and a chart that fails holds it.
func TestChartsOfKustomizations(t *testing.T) {
	const template = `
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  endpoints: [{port: {{ if .Capabilities.APIVersions.Has "shop.example.com/v1" }}{{ required "a port is needed" .Values.port }}{{ end }}}]
`
	kustomization := func(port string) string {
		return "namespace: a\nresources: [agent.yaml]\nhelmGlobals: {chartHome: ../../charts}\n" +
			"helmCharts: [{name: shop, releaseName: web, valuesInline: {port: " + port + "}}]\n"
	}
	like := func(port string) map[string]string {
		return map[string]string{"in/a/agent.yaml": agent("a"), "in/a/web.yaml": monitor("a", "web", port),
			"in/a/kustomization.yaml": "resources: [agent.yaml, web.yaml]\n"}
	}
	l := newLab(t)
	l.pipeline.Spec.Cluster = helm.Cluster{Version: "1.31", APIVersions: []string{"shop.example.com/v1"}}
	l.options.Charts = helm.NewWorkers(helm.Options{Command: []string{os.Args[0]}, Env: []string{chartsEnv + "=1"}})
	t.Cleanup(l.options.Charts.Close)
	l.files = map[string]string{
		"in/a/agent.yaml":                    strings.ReplaceAll(agent("a"), ", namespace: a", ""),
		"in/a/kustomization.yaml":            kustomization("http"),
		"charts/shop/Chart.yaml":             "apiVersion: v2\nname: shop\nversion: 1.0.0\nkubeVersion: <1.32\n",
		"charts/shop/templates/monitor.yaml": template,
	}
	held := []string{"GrafanaAgent/a/agent in a/agent: version 3 since 4",
		"MetricsInstance/a/main in a/agent: version 3 since 4", "ServiceMonitor/a/web in a/agent: version 3 since 4"}
	runSteps(t, l,
		step{like: like("http")},
		step{edit: map[string]string{"in/a/kustomization.yaml": kustomization("web")}, like: like("web")},
		step{edit: map[string]string{"in/a/kustomization.yaml": kustomization("null")}, like: like("web"),
			wrong: "build-failed", held: held},
		step{edit: map[string]string{"charts/shop/values.yaml": "port: metrics\n",
			"in/a/kustomization.yaml": strings.ReplaceAll(kustomization(""), "{port: }", "{}")}, like: like("metrics")},
		step{edit: map[string]string{"charts/shop/templates/monitor.yaml": strings.ReplaceAll(template, ".Values.port",
			"(print .Values.port 2)")}, like: like("metrics2")},
	)
	if diags := l.pass().Diags; len(diags) > 0 {
		t.Error(diags)
	}
}
