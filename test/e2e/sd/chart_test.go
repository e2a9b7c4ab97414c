package sd

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

var chart = harness.Chart{Name: "sd-aggregator", Kinds: map[string][2]string{
	"ServiceMonitor": harness.OperatorCRD("servicemonitors"), "PrometheusRule": harness.OperatorCRD("prometheusrules"),
	"Certificate": harness.CertificateCRD()}}

func TestChart(t *testing.T) { chart.Check(t, cluster, "monitoring") }

func TestTheAPIServerRefuses(t *testing.T) { chart.CheckRefusals(t, cluster, "monitoring") }
