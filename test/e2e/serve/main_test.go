// Package serve proves that one replica of agentry serve is active, with a real API server: the
// program itself, with the rights that its chart gives it, and repositories behind a real Git
// server. Replicas are killed, stopped for longer than they may be, and cut off from the API
// server; triggers reach whom they are meant for. And the API server accepts every object that
// the chart can render.
package serve

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) { cluster = c }, harness.Helm(), harness.Agentry(), harness.CRDs())
}
