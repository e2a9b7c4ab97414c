package flux

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// TestInit: what agentry init writes into a repository that is in use has no finding, builds with kustomize, and runs
// once it is pushed, for each runtime, with and without a login, and with and without flux bootstrap: where that was
// run, nothing but the push is needed.
func TestInit(t *testing.T) {
	w := &testbed{t: t, forge: gitops.NewForge(t), Applier: cluster.NewApplier(t)}
	w.user = w.forge.NewUser(t)
	w.install()
	newSources(t)
	cluster.Controllers(t, "statefulset-controller", "garbage-collector-controller")
	gitops.ReadyPods(t, cluster.Client(t))
	cluster.OpenNamespaces(t, fluxSystem)
	w.launch()
	s := cluster.NewShell(t, w.user.Dir)
	s.Env = append(s.Env, "GIT_TOKEN="+gitops.Password("git"))
	s.Must("kubectl -n flux-system create secret generic git-read --from-literal=username=flux --from-literal=password=" +
		gitops.Password("flux") + " --dry-run=client -o yaml | kubectl apply -f -") // another test may have made it
	var all []initialized
	for _, runtime := range []string{"alloy", "agent"} {
		for _, login := range []string{"", " --remote-write-secret mimir-login"} {
			for _, isBootstrapped := range []bool{false, true} {
				all = append(all, initialized{fmt.Sprintf("c%d", len(all)), runtime, login, isBootstrapped})
			}
		}
	}
	for _, c := range all {
		c.write(w, s)
	}
	w.push("Begin with agentry")
	for _, c := range all {
		s.Must("agentry sync -f " + c.folder() + "/pipeline.yaml")
	}
	for _, c := range all {
		t.Run(fmt.Sprintf("%s%s bootstrap=%t", c.runtime, c.login, c.isBootstrapped), func(t *testing.T) {
			file := c.folder() + "/flux/monitoring.yaml"
			if c.isBootstrapped {
				file = "clusters/" + c.name + "/sync.yaml" // as flux bootstrap does once
			}
			s.Must("kubectl apply -f " + file)
			rendered := kustomizationIn(fluxSystem, "monitoring-rendered-"+c.name)
			harness.Eventually(t, "Flux applies "+c.name, func() error {
				k, err := w.live(rendered)
				if err != nil {
					return err
				}
				if !isReady(k) {
					return errors.New(conditions(k))
				}
				return nil
			})
			c.runs(t, w)
		})
	}
}

// initialized is one way to run agentry init.
type initialized struct {
	name, runtime, login string
	isBootstrapped       bool
}

func (c initialized) folder() string { return "monitoring/" + c.name }

// write runs init, and checks and builds what it wrote.
func (c initialized) write(w *testbed, s *harness.Shell) {
	w.t.Helper()
	flux := " --flux"
	if c.isBootstrapped {
		flux = ""
		w.user.Write(w.t, "clusters/"+c.name+"/sync.yaml", fmt.Sprintf(`apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: sync-%[1]s, namespace: flux-system}
spec: {interval: 1h, ref: {branch: main}, secretRef: {name: git-read}, url: "%[2]s"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: sync-%[1]s, namespace: flux-system}
spec: {interval: 1h, path: ./clusters/%[1]s, prune: true, sourceRef: {kind: GitRepository, name: sync-%[1]s}}
`, c.name, gitops.PublicURL))
	}
	said := s.Must("agentry init --ci github --remote-write https://mimir.example.com/api/v1/push --namespace " + c.name +
		" --name " + c.name + " --runtime " + c.runtime + c.login + flux + " " + c.folder())
	if c.isBootstrapped != strings.Contains(said, "Flux applies clusters/"+c.name+"/monitoring-"+c.name+".yaml") {
		w.t.Errorf("it says:\n%s", said)
	}
	_, complaints, code := s.Run("agentry check --strict " + c.folder())
	if code != 0 || !strings.Contains(complaints, ": 0 errors, 0 warnings\n") {
		w.t.Errorf("exit code %d: %s", code, complaints)
	}
	out := filepath.Join(w.t.TempDir(), "out")
	s.Must("agentry render -o " + out + " " + c.folder())
	if got := len(harness.Decode(w.t, []byte(s.Must("kubectl kustomize "+out)))); got != 6 {
		w.t.Errorf("kustomize builds %d objects", got)
	}
}

// runs checks what is in the cluster: the program, with the rights that it needs and no others.
func (c initialized) runs(t *testing.T, w *testbed) {
	t.Helper()
	object := func(apiVersion, kind, name string) map[string]any {
		t.Helper()
		o, err := w.live(&unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": c.name}}})
		if err != nil {
			t.Fatal(err)
		}
		return o.Object
	}
	containers, _, _ := unstructured.NestedSlice(object("apps/v1", "StatefulSet", "grafana-agent"), "spec", "template",
		"spec", "containers")
	if images := fmt.Sprint(containers); !strings.Contains(images, "grafana/"+c.runtime+":") {
		t.Errorf("the containers are %s", images)
	}
	rules, _, _ := unstructured.NestedSlice(object("rbac.authorization.k8s.io/v1", "Role",
		c.name+".grafana-agent."+c.name), "rules")
	const want = "[map[apiGroups:[] resources:[pods] verbs:[list watch]]]"
	if got := fmt.Sprint(rules); got != want {
		t.Errorf("the rules are %s, not %s", got, want)
	}
	roles, err := w.List(t, "rbac.authorization.k8s.io/v1", "ClusterRole",
		"kustomize.toolkit.fluxcd.io/name=monitoring-rendered-"+c.name)
	if err != nil || len(roles) > 0 {
		t.Errorf("ClusterRoles: %v, %v", roles, err)
	}
	object("v1", "ServiceAccount", "grafana-agent")
}
