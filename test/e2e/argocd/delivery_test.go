//go:build argocd

package argocd

import (
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// report lets Argo CD report what it applies, with what agentry init writes and prints.
func (w *testbed) report(t *testing.T) {
	s := cluster.NewShell(t, t.TempDir())
	s.Env = append(s.Env, "DELIVERY_TOKEN="+gitops.DeliveryToken)
	said := s.Must("agentry init --url " + gitops.PublicURL + " --branch main --name prod --ci none --argocd " +
		"--serve http://" + gitops.HookAddress + " --remote-write https://mimir.example.com/api/v1/push")
	_, said, _ = strings.Cut(said, "Argo CD tells ")
	if strings.Count(said, "\n  kubectl ") != 2 {
		t.Fatalf("init says: %s", said)
	}
	for line := range strings.Lines(said) {
		if command := strings.TrimSpace(line); strings.HasPrefix(command, "kubectl ") {
			s.Must(command)
		}
	}
	// The Application of the page, with a subscription. Argo CD looks at it when it changes, or within a minute.
	s.Must("kubectl apply -f argocd/monitoring.yaml")
}

// delivered follows commits into the cluster. Programs stand still for a while, so that each state is seen.
func (w *testbed) delivered(t *testing.T) {
	commit := w.forge.Tip(t, branch)
	expect := func(state, message string) {
		t.Helper()
		gitops.Delivered(t, "prod", commit, "prod", state, message)
	}
	w.report(t)
	expect("healthy", "")

	w.argocd.Signal(syscall.SIGSTOP)
	w.controllers.Signal(syscall.SIGSTOP)
	w.user.Edit(t, "monitoring/agent.yaml", "cpu: 100m", "cpu: 110m")
	commit = gitops.Rendered(t, "prod", w.user.Push(t, "A little more for the agents")).Output.Commit
	expect("pushed", "")
	w.argocd.Signal(syscall.SIGCONT)
	expect("applied", "")
	w.controllers.Signal(syscall.SIGCONT)
	expect("healthy", "")
	w.says(t, `in     applied in 1 of 1 cluster\n       prod Application/argocd/monitoring-rendered healthy after \d+s\n`)

	w.user.Write(t, "elsewhere/agent.yaml", elsewhere(w.testdata("edge.yaml")))
	commit = gitops.Rendered(t, "prod", w.user.Push(t, "An agent in a namespace that is not there")).Output.Commit
	expect("failed", `namespaces "elsewhere" not found`)
	w.says(t, `in     applied in 0 of 1 cluster, failed in prod\n       prod Application/argocd/monitoring-rendered `+
		`failed, has [0-9a-f]{7,}: .*namespaces "elsewhere" not found`)
	w.user.Write(t, "cluster/elsewhere.yaml", elsewhere(w.testdata("edge-cluster.yaml")))
	gitops.Rendered(t, "prod", w.user.Push(t, "Its namespace"))
	expect("healthy", "")

	w.user.Remove(t, "elsewhere/agent.yaml")
	commit = w.settled(w.user.Push(t, "No agent elsewhere")).Output.Commit
	expect("healthy", "")
}

// elsewhere moves what is for edge to another namespace.
func elsewhere(text string) string { return strings.ReplaceAll(text, "edge", "elsewhere") }

// says compares what agentry status says of the pipeline with a pattern.
func (w *testbed) says(t *testing.T, pattern string) {
	t.Helper()
	// It fails if something is held.
	out, _ := exec.Command(harness.Agentry().Path(), "status", "prod").CombinedOutput()
	if !regexp.MustCompile(pattern).Match(out) {
		t.Errorf("agentry status says, not %s:\n%s", pattern, out)
	}
}
