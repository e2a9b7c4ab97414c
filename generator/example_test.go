package generator_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// agentAndMonitor are a GrafanaAgent with one instance, and a ServiceMonitor that it selects.
const agentAndMonitor = `
apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec:
  serviceAccountName: agent
  metrics: {instanceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec:
  remoteWrite: [{url: "https://mimir.example.com/api/v1/push"}]
  serviceMonitorSelector: {}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: shop, namespace: monitoring}
spec:
  selector: {matchLabels: {app: shop}}
  endpoints: [{port: metrics, interval: 30s}]
`

// Each GrafanaAgent becomes a folder of manifests.
func ExampleRender() {
	file := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(agentAndMonitor)}, manifest.Options{})
	out := generator.Render(manifest.NewSet(file), generator.Options{}, nil)
	for _, unit := range out.Units {
		for _, file := range unit.Files {
			fmt.Println(unit.Name+"/"+file.Path, file.Object.Kind)
		}
	}
	// Output:
	// monitoring/agent/agent-config.secret.yaml Secret
	// monitoring/agent/agent-operated.service.yaml Service
	// monitoring/agent/agent.statefulset.yaml StatefulSet
	// monitoring/agent/kustomization.yaml
}

// A mistake is a finding with its place in the file, and affects no other object.
func ExampleRender_findings() {
	wrong := []byte(strings.Replace(agentAndMonitor, "interval:", "intervall:", 1))
	file := manifest.Parse(manifest.File{Path: "a.yaml", Data: wrong}, manifest.Options{})
	out := generator.Render(manifest.NewSet(file), generator.Options{}, nil)
	input := func(source, file string) []byte { return wrong }
	if err := (diag.Text{Input: input}).Print(os.Stdout, append(file.Diags, out.Diags...)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a.yaml:21:31: error[unknown-field]: ServiceMonitor/monitoring/shop: spec.endpoints[0].intervall: unknown field
	//   21 |   endpoints: [{port: metrics, intervall: 30s}]
	//      |                               ^
	//   hint: did you mean interval?
}

// Two renders are compared by what their objects mean.
func ExampleCompare() {
	var renders []*generator.Output
	for _, interval := range []string{"30s", "15s"} {
		text := []byte(strings.Replace(agentAndMonitor, "30s", interval, 1))
		file := manifest.Parse(manifest.File{Path: "a.yaml", Data: text}, manifest.Options{})
		renders = append(renders, generator.Render(manifest.NewSet(file), generator.Options{}, nil))
	}
	fmt.Print(generator.Compare(renders[0].Units, renders[1].Units).Text())
	// Output:
	// 1 object changed
	//
	// pods reload their configuration, without a restart
	//   StatefulSet monitoring/agent
	//
	// ~ Secret monitoring/agent-config
	//   ~ instance monitoring/main > job serviceMonitor/monitoring/shop/0 > scrape_interval: 30s → 15s
}
