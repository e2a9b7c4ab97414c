// Package day proves that somebody who has the documentation and nothing else gets through a first
// day: docs/first-day.md is typed word for word, and what it says is printed is what is printed.
// Both charts are installed in a real API server by Helm's template; agentry runs as the chart's
// Deployment says, with its arguments, its ConfigMap, its Secrets and the rights of its
// ServiceAccount; commits are pushed to a real Git server at the address of the page. A first
// GrafanaAgent comes into being, a teammate's typo is held, told and repaired, a password is used
// under both policies, shards come and go with their claims, and a change is reverted; after each
// step the page asks what its reader would ask, of agentry and of the cluster. No Flux runs here
// (test/e2e/flux has it): what it would do, apply the branch and prune, is done by the test, which
// also says that a minute has passed. Pods have nothing behind them.
package day

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.ControllerManager(), harness.Kubectl(), harness.Helm())
}
