//go:build argocd

// Package argocd proves the whole way from a commit to the cluster with Argo CD: a user pushes
// custom resources to a Git server, its webhook reaches agentry serve, which renders them to a
// branch, and the webhook of that push reaches Argo CD, which applies the branch to a real API
// server. What is there then is what was rendered, Synced and Healthy, and stays so: hard refreshes
// find no difference, with client-side apply, with server-side apply and with server-side diff.
// Nothing on the branch is loaded but its manifests. A changed monitor changes one Secret; a
// GrafanaAgent that is removed is pruned; somebody's edit in the cluster is put back; a Secret that
// client-side apply cannot take is applied; an ApplicationSet makes one Application for each agent. Argo
// CD reports to agentry how far a commit has come, also one that the API server refuses. The manifests
// and commands are those of docs/argocd.md and of agentry init, and what else that page says is tried.
//
// The application controller, the repo server, the API server, the ApplicationSet controller and the
// notifications controller are Argo CD's own, of the newest line (3.1) of which the module proxy has all
// parts: it is not the newest. Its Redis, a cache, is miniredis. Pods are objects without anything behind
// them, which the test calls ready: Healthy means that Kubernetes' own controllers made what was rendered
// into pods, and that Argo CD found them all.
//
// The suite is not part of "make e2e", for it takes another five minutes to build. Run it with
// "make e2e SUITE=argocd".
package argocd

import (
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// cluster is that of the suite.
var cluster *harness.Cluster

func TestMain(m *testing.M) {
	harness.Main(m, func(c *harness.Cluster) {
		cluster = c
	}, harness.Agentry(), harness.ControllerManager(), harness.Kubectl(),
		harness.ArgoCD(), harness.Kustomize(), harness.Redis())
}
