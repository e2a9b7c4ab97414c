// Package flux proves the whole way from a commit to the cluster with Flux: a user pushes custom
// resources to a Git server, its webhook reaches agentry serve, which renders them to a branch and
// calls Flux's Receiver, and Flux applies the branch to a real API server: what is there then is
// what was rendered, without conflicts and without drift. A changed monitor changes one Secret; a
// GrafanaAgent that is removed is pruned; what is wrong, or would be refused by the API server,
// reaches no cluster, takes nothing else with it, and is told by events; dollars survive Flux's
// substitution; somebody's edit of the branch is put back. The manifests, the pipeline and the
// commands are those of docs/flux.md.
//
// kustomize-controller and notification-controller are Flux's own. Its source-controller is not:
// the module proxy does not have all that it imports. A stand-in of this package ([sources])
// fetches branches and publishes them as it would, and only when it is asked to, never by its
// interval. What source-controller does besides (.sourceignore, submodules, verification, garbage
// collection) is not tested here. Pods are objects without anything behind them, which the test
// calls ready.
//
// Two tests make passes by agentry sync: in one, Flux decrypts what policy sops encrypted, before and after a change of
// its key; in the other, a tenant attacks a repository whose output Flux applies with accounts of single namespaces.
//
// Another test compares what kustomize-controller applies of a repository with what agentry reads of it (build: flux).
// The module proxy does not have helm-controller: a third one compares HelmReleases, and Applications of Argo CD, with
// what the program helm renders.
package flux

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.AgentrySOPS(), harness.ControllerManager(), harness.Kubectl(),
		harness.KustomizeController(), harness.NotificationController(), harness.CRDs(), harness.Operator(),
		harness.Builds(), harness.Helm())
}
