package explain_test

import (
	"fmt"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// many returns a render of n ServiceMonitors of 100 teams, whose instances belong to 10 GrafanaAgents.
func many(b *testing.B, n int) explain.Render {
	b.Helper()
	var results []manifest.Result
	add := func(path, text string) {
		results = append(results, manifest.Parse(manifest.File{Path: path, Data: []byte(text)}, manifest.Options{}))
	}
	for i := range 10 {
		add(fmt.Sprintf("agents/%d.yaml", i),
			fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
				"metadata: {name: agent-%[1]d, namespace: monitoring}\n"+
				"spec: {metrics: {instanceSelector: {matchLabels: {agent: '%[1]d'}}}}\n", i))
	}
	for i := range 100 {
		add(fmt.Sprintf("instances/%d.yaml", i),
			fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
				"metadata: {name: team-%[1]d, namespace: monitoring, labels: {agent: '%[2]d'}}\n"+
				"spec: {serviceMonitorSelector: {matchLabels: {team: '%[1]d'}}, serviceMonitorNamespaceSelector: {}, "+
				"remoteWrite: [{url: 'https://x.example.com/push'}]}\n", i, i%10))
	}
	for i := range n {
		add(fmt.Sprintf("monitors/%d.yaml", i),
			fmt.Sprintf("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
				"metadata: {name: service-%[1]d, namespace: team-%[2]d, labels: {team: '%[2]d', app: "+
				"service-%[1]d}}\nspec: {selector: {matchLabels: {app: service-%[1]d}}, endpoints: [{port: http}]}\n",
				i, i%100))
	}
	return generator.Render(manifest.NewSet(results...), generator.Options{}, nil).Explained()
}

// BenchmarkExplain explains ServiceMonitors among 100,000: one alone, with what is prepared for it, and all in one go.
func BenchmarkExplain(b *testing.B) {
	render := many(b, 100_000)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			x := explain.New(render)
			if _, ok := x.Explain(manifest.ID{Kind: "ServiceMonitor", Namespace: "team-7", Name: "service-7"}); !ok {
				b.Fatal("it is not there")
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		objects := render.Set.All()
		for b.Loop() {
			x := explain.New(render)
			for _, o := range objects {
				x.Explain(o.ID)
			}
		}
	})
}

// BenchmarkSearch looks for words among 100,000 objects.
func BenchmarkSearch(b *testing.B) {
	x := explain.New(many(b, 100_000))
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			x.Index()
		}
	})
	ix := x.Index()
	b.ReportMetric(float64(ix.Bytes())/1e6, "MB")
	for _, query := range []string{"service-99999", "team=7 rendered", "nothing has this"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				ix.Search(query, 100)
			}
		})
	}
}
