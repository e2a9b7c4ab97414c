//go:build argocd

package argocd

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	namespace = "argocd"
	rendered  = "monitoring-rendered" // the page's Application of the output branch
	branch    = "environments/prod"

	serverAddress = "127.0.0.1:8080"
	repoAddress   = "127.0.0.1:8081"
	redisAddress  = "127.0.0.1:6379"
	webhook       = "http://" + serverAddress + "/api/webhook"
)

// testbed is a Git server, a cluster with Argo CD, and agentry between them.
type testbed struct {
	*harness.Applier
	t     *testing.T
	page  *gitops.Page
	forge *gitops.Forge
	user  *gitops.User
	etc   string // the credentials; where commands of the page run

	argocd, controllers *harness.Process // the application controller; Kubernetes' controllers
}

// newTestbed is a repository, agentry that renders it, and a cluster with Argo CD, which knows of
// nothing yet.
func newTestbed(t *testing.T) *testbed {
	t.Helper()
	w := &testbed{t: t, page: gitops.NewPage(t, "argocd.md"), forge: gitops.NewForge(t), etc: t.TempDir()}
	w.user = w.forge.NewUser(t)
	w.begin()
	w.serve()
	w.Applier = cluster.NewApplier(t)
	w.install()
	w.controllers = cluster.Controllers(t, "statefulset-controller", "daemonset-controller", "deployment-controller",
		"replicaset-controller", "garbage-collector-controller")
	gitops.ReadyPods(t, cluster.Client(t))
	t.Setenv("KUBECONFIG", cluster.AdminKubeconfig(t))
	w.argo()
	return w
}

// begin makes the repository: the quickstart, and an agent with the workloads that it lacks.
func (w *testbed) begin() {
	if err := os.CopyFS(w.user.Dir, os.DirFS(filepath.Join(harness.Root(), "examples", "quickstart"))); err != nil {
		w.t.Fatal(err)
	}
	for file, to := range map[string]string{"edge.yaml": "edge/agent.yaml", "edge-cluster.yaml": "cluster/edge.yaml"} {
		w.user.Write(w.t, to, w.testdata(file))
	}
	w.user.Push(w.t, "Start")
}

func (w *testbed) testdata(file string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// serve runs agentry. From then on the forge tells it and Argo CD of pushes.
func (w *testbed) serve() {
	for name, text := range map[string]string{"git.token": gitops.Password("git"), "hook.secret": gitops.HookSecret} {
		if err := os.WriteFile(filepath.Join(w.etc, name), []byte(text+"\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	pipeline := strings.ReplaceAll(here(w.testdata("pipeline.yaml")), "/etc/agentry/", w.etc+"/")
	w.forge.TellTo(gitops.ServeAgentry(w.t, cluster, pipeline, gitops.DeliveryFlag(w.t, w.etc)), webhook)
}

// install puts into the cluster what an installation of Argo CD has besides its programs.
func (w *testbed) install() {
	text, err := harness.ArgoCDCRDs()
	if err != nil {
		w.t.Fatal(err)
	}
	crds := harness.Decode(w.t, text)
	w.MustApply(w.t, crds, "CustomResourceDefinition")
	for _, kind := range []string{"Application", "ApplicationSet", "AppProject"} {
		harness.Eventually(w.t, "serve "+kind, func() error { return w.Knows(kind) })
	}
	cluster.OpenNamespaces(w.t, namespace)
	w.MustApply(w.t, harness.Decode(w.t, []byte(w.testdata("argocd.yaml"))), "ConfigMap", "Secret", "AppProject")
}

// argo runs Argo CD: one program, which does what its name in the environment says.
func (w *testbed) argo() {
	cluster.Launch(w.t, "redis", harness.Redis(), redisAddress)
	tools := w.tools()
	dir := w.t.TempDir()
	for name, value := range map[string]string{
		"PATH":                   tools + ":" + os.Getenv("PATH"), // The repo server runs git, kustomize and itself.
		"TMPDIR":                 dir,
		"ARGOCD_FAKE_IN_CLUSTER": "true", // https://kubernetes.default.svc is where the kubeconfig says.
		"ARGOCD_GPG_ENABLED":     "false",
		"ARGOCD_TLS_DATA_PATH":   dir,
		"ARGOCD_SSH_DATA_PATH":   dir,
		"ARGOCD_ASK_PASS_SOCK":   filepath.Join(dir, "ask-pass.sock"),
	} {
		w.t.Setenv(name, value)
	}
	w.sh("webhook.gogs.secret") // Before the API server runs, which would begin anew because of it.
	w.program("repo-server", "--address=127.0.0.1", "--port=8081", "--metrics-address=127.0.0.1",
		"--redis="+redisAddress, "--disable-tls")
	w.argocd = w.program("application-controller", "--namespace="+namespace, "--repo-server="+repoAddress,
		"--repo-server-plaintext", "--redis="+redisAddress,
		"--app-resync=0") // It looks at a branch only when it is told to, so that nothing goes well by waiting.
	w.program("server", "--namespace="+namespace, "--address=127.0.0.1", "--port=8080", "--insecure", "--disable-auth",
		"--repo-server="+repoAddress,
		"--repo-server-plaintext", "--redis="+redisAddress)
	w.program("applicationset-controller", "--namespace="+namespace, "--metrics-addr=127.0.0.1:8085",
		"--probe-addr=127.0.0.1:8086",
		"--webhook-addr=127.0.0.1:7000", "--argocd-repo-server="+repoAddress, "--repo-server-plaintext")
	w.program("notifications", "--kubeconfig="+w.kubeconfig(), "--argocd-repo-server="+repoAddress,
		"--argocd-repo-server-plaintext")
	w.listens()
}

// kubeconfig is one with Argo CD's namespace, which the notifications controller takes from nowhere else.
func (w *testbed) kubeconfig() string {
	w.t.Helper()
	file := cluster.AdminKubeconfig(w.t)
	if out, err := exec.Command(harness.Kubectl().Path(), "config", "--kubeconfig="+file, "set-context", "--current",
		"--namespace="+namespace).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func (w *testbed) program(name string, args ...string) *harness.Process {
	w.t.Setenv("ARGOCD_BINARY_NAME", "argocd-"+name)
	return cluster.Launch(w.t, "argocd-"+name, harness.ArgoCD(), append(args, "--loglevel=warn")...)
}

// listens waits until Argo CD takes webhooks, with our signature and no other.
func (w *testbed) listens() {
	w.t.Helper()
	for secret, want := range map[string]int{"another": http.StatusBadRequest, gitops.HookSecret: http.StatusOK} {
		harness.Eventually(w.t, "Argo CD's webhook", func() error {
			if got, err := gitops.Call(webhook, secret, `{"ref": "refs/heads/nobody"}`); err != nil || got != want {
				return fmt.Errorf("it answers %d, not %d: %v", got, want, err)
			}
			return nil
		})
	}
}

func (w *testbed) tools() string {
	tools, err := filepath.Abs(filepath.Dir(harness.Kubectl().Path()))
	if err != nil {
		w.t.Fatal(err)
	}
	return tools
}

// here has the page's addresses where they are in the suite.
func here(text string) string {
	return strings.ReplaceAll(text, "https://git.example.com/", "http://"+gitops.ForgeAddress+"/")
}

// sh runs the commands of the page's block that holds a text, and returns what they print.
func (w *testbed) sh(with string) string {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), "sh", "-e", "-c", here(w.page.Find("sh", with)))
	command.Dir = w.etc
	command.Env = append(os.Environ(), "PATH="+w.tools()+":"+os.Getenv("PATH"),
		"GIT_READ_TOKEN="+gitops.Password("argocd"), "HOOK_SECRET="+gitops.HookSecret)
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", with, err, out)
	}
	return string(out)
}

// onPage is an object of the page that holds a text.
func (w *testbed) onPage(with string) *unstructured.Unstructured {
	w.t.Helper()
	return harness.Decode(w.t, []byte(here(w.page.Find("yaml", with))))[0]
}

// mustApply applies an object.
func (w *testbed) mustApply(o *unstructured.Unstructured) {
	w.t.Helper()
	if err := w.Apply(w.t, o, false); err != nil {
		w.t.Fatal(err)
	}
}

// live is an object as the API server has it.
func (w *testbed) live(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := w.Resource(o)
	if err != nil {
		return nil, err
	}
	return resource.Get(w.t.Context(), o.GetName(), metav1.GetOptions{})
}

// inCluster are the objects of the branch as the API server has them.
func (w *testbed) inCluster() gitops.Objects {
	w.t.Helper()
	out := gitops.Objects{}
	for name, o := range w.forge.Manifests(w.t, branch) {
		live, err := w.live(o)
		if err != nil {
			w.t.Fatal(err)
		}
		out[name] = live
	}
	return out
}
