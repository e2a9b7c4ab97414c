package targets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/targets"
)

// BenchmarkCompute computes the targets of 200 monitors that look in all namespaces of a cluster with 5,000 pods.
func BenchmarkCompute(b *testing.B) {
	var export, monitors strings.Builder
	export.WriteString(`{"kind": "List", "apiVersion": "v1", "items": [` + namespace)
	for n := range 5000 {
		name := fmt.Sprintf("app-%d", n%500)
		export.WriteString("," + strings.ReplaceAll(pod(fmt.Sprint("pod-", n), "10.0.0.1"), `"app": "web"`,
			`"app": "`+name+`"`))
	}
	export.WriteString("]}")
	monitors.WriteString(hierarchy)
	for n := range 200 {
		monitors.WriteString(strings.NewReplacer("name: web", fmt.Sprint("name: web-", n), "app: web",
			fmt.Sprint("app: app-", n)).Replace(podMonitor))
	}
	all := jobs(b, monitors.String())
	for b.Loop() {
		cluster, err := targets.FromExport([]byte(export.String()))
		if err != nil {
			b.Fatal(err)
		}
		report, err := targets.Compute(b.Context(), cluster, all)
		if err != nil || len(report.Jobs) != 200 || report.Jobs[0].Kept != 10 {
			b.Fatal(err, len(report.Jobs))
		}
	}
}
