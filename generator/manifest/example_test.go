package manifest_test

import (
	"fmt"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// An object has its Go type, and the file that it was read from.
func ExampleParse() {
	parsed := manifest.Parse(manifest.File{Path: "shop.yaml", Data: []byte(`
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: checkout, namespace: shop}
spec:
  selector: {matchLabels: {app: checkout}}
  endpoints: [{port: http, interval: 30s}]
`)}, manifest.Options{})
	for _, o := range parsed.Objects {
		monitor := manifest.As[monitoringv1.ServiceMonitor](o)
		fmt.Println(o.ID, o.File(), monitor.Spec.Endpoints[0].Interval)
	}
	// Output:
	// ServiceMonitor/shop/checkout shop.yaml 30s
}
