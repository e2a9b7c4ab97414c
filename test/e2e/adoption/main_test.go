// Package adoption proves that a running installation of the Grafana Agent Operator is taken over
// in place, with nothing restarted and nothing lost. For every conformance case whose objects the
// API server accepts, the custom resources are created as the operator's users would, then what
// the operator made of them, owned by them; agentry's output, applied over it as Flux, Argo CD
// and kubectl do, is accepted and changes no field but those that docs/compatibility.md lists:
// the controllers of Kubernetes, which run, see nothing to roll out, nor do they when the mode is
// switched to current. Then the procedure of
// docs/migration.md, which is typed here word for word, takes the operator out of the loop: the
// custom resources and their definitions are deleted while the garbage collector runs, and
// everything stays. That it would not stay without that procedure is shown as well. The operator
// itself and Flux do not run here; what they would write is written in their names.
//
// The same controllers judge what agentry diff says of pods: which restart after an edit, and which only reload.
package adoption

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.ControllerManager(), harness.Kubectl(), harness.Operator())
}
