// Package sd proves that the sd-aggregator and its chart work with a real API server: the
// program itself, with the rights that the chart gives it, finds pods in EndpointSlices that
// come, go and are listed anew, does without a namespace that is forbidden, and keeps the kubelet
// Service, one replica at a time. And the API server accepts every object that the chart can
// render. Pods and nodes are objects without anything behind them; the pods' answers come from
// the test.
package sd

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) { cluster = c }, harness.Helm(), harness.Aggregator(), harness.CRDs())
}
