package serve

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

var chart = harness.Chart{Name: "agentry", Least: "existingConfigMap=pipelines,admin.token.secretName=agentry-admin",
	Kinds: map[string][2]string{
		"ServiceMonitor": harness.OperatorCRD("servicemonitors"),
		"PrometheusRule": harness.OperatorCRD("prometheusrules"), "Certificate": harness.CertificateCRD(),
		"HTTPRoute": {"sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"}}}

func TestChart(t *testing.T) { chart.Check(t, cluster, "fleet") }

func TestTheAPIServerRefuses(t *testing.T) { chart.CheckRefusals(t, cluster, "fleet") }
