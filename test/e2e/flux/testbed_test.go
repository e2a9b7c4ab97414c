package flux

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	fluxSystem = "flux-system"
	rendered   = "monitoring-rendered" // the page's GitRepository and Kustomization of the output branch
	branch     = "environments/prod"

	alertsAddress   = "127.0.0.1:9690" // of notification-controller, for events
	receiverAddress = "127.0.0.1:9293" // the same, for calls of Receivers
)

// testbed is a Git server, a cluster with Flux, and agentry between them.
type testbed struct {
	*harness.Applier
	t      *testing.T
	page   *gitops.Page
	forge  *gitops.Forge
	user   *gitops.User
	events *events
	branch string                     // of the output
	output *unstructured.Unstructured // the name of its Kustomization
	etc    string                     // the credentials; where commands of the page run
	hook   string                     // the Receiver's address
	told   string                     // where agentry is told of pushes
}

// newTestbed is what is there before agentry starts: Flux, set up as the page says, and a repository.
func newTestbed(t *testing.T) *testbed {
	t.Helper()
	w := &testbed{t: t, page: gitops.NewPage(t, "flux.md"), forge: gitops.NewForge(t), events: newEvents(t),
		etc:    t.TempDir(),
		branch: branch, output: kustomizationIn(fluxSystem, rendered)}
	w.begin()
	w.Applier = cluster.NewApplier(t)
	w.install()
	cluster.Controllers(t, "statefulset-controller", "daemonset-controller", "deployment-controller",
		"replicaset-controller", "garbage-collector-controller")
	gitops.ReadyPods(t, cluster.Client(t))
	newSources(t)
	cluster.OpenNamespaces(t, fluxSystem)
	t.Setenv("KUBECONFIG", cluster.AdminKubeconfig(t))
	t.Setenv("RUNTIME_NAMESPACE", fluxSystem)
	cluster.Launch(t, "notification-controller", harness.NotificationController(), "--watch-all-namespaces",
		"--health-addr=127.0.0.1:9441",
		"--metrics-addr=127.0.0.1:9442", "--events-addr="+alertsAddress, "--receiverAddr="+receiverAddress)
	cluster.Launch(t, "kustomize-controller", harness.KustomizeController(), "--watch-all-namespaces",
		"--health-addr=127.0.0.1:9443",
		"--metrics-addr=127.0.0.1:9444", "--events-addr=http://"+alertsAddress+"/", "--requeue-dependency=1s")
	w.setUp()
	return w
}

// begin makes the repository: the quickstart, and what the suite looks at besides.
func (w *testbed) begin() {
	w.user = w.forge.NewUser(w.t)
	if err := os.CopyFS(w.user.Dir, os.DirFS(filepath.Join(harness.Root(), "examples", "quickstart"))); err != nil {
		w.t.Fatal(err)
	}
	for file, to := range map[string]string{"edge.yaml": "edge/agent.yaml", "edge-cluster.yaml": "cluster/edge.yaml",
		"dollars.yaml": "team-shop/dollars.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			w.t.Fatal(err)
		}
		w.user.Write(w.t, to, string(text))
	}
	w.edit("monitoring/agent.yaml", "cluster: quickstart", "cluster: quickstart\n      pod: ${HOSTNAME}")
	w.push("Start")
}

// install makes the API server know the kinds of Flux.
func (w *testbed) install() {
	text, err := harness.FluxCRDs()
	if err != nil {
		w.t.Fatal(err)
	}
	crds := harness.Decode(w.t, text)
	w.MustApply(w.t, crds, "CustomResourceDefinition")
	for _, crd := range crds {
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		harness.Eventually(w.t, "serve "+crd.GetName(), func() error { return w.Knows(kind) })
	}
}

// setUp follows the page, up to the pipeline.
func (w *testbed) setUp() {
	for _, secret := range []string{"git-read", "agentry-receiver", "hooks"} {
		w.sh("create secret generic " + secret)
	}
	for _, kind := range []string{"Receiver", "Provider", "Alert", "GitRepository", "Kustomization"} {
		w.apply(kind)
	}
	said := w.sh(".status.webhookPath")
	w.hook = "http://" + receiverAddress + said[strings.LastIndex(said, "\n")+1:]
}

// apply applies the page's objects of a kind. Kustomizations get a substitution that they do not
// have there, so that something could be eaten.
func (w *testbed) apply(kind string) {
	for _, text := range w.page.All("yaml", "kind: "+kind+"\n") {
		for _, o := range harness.Decode(w.t, []byte(here(text))) {
			if o.GetKind() != kind {
				continue
			}
			if kind == "Kustomization" {
				if err := unstructured.SetNestedStringMap(o.Object,
					map[string]string{"VAR": "eaten", "HOSTNAME": "eaten"}, "spec", "postBuild", "substitute"); err !=
					nil {
					w.t.Fatal(err)
				}
			}
			if err := w.Apply(w.t, o, false); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// here has the page's addresses where they are in the suite.
func here(text string) string {
	return strings.NewReplacer("https://git.example.com/", "http://"+gitops.ForgeAddress+"/",
		"https://hooks.example.com/flux", "http://"+eventsAddress+alertsPath,
		"http://notification-controller.flux-system.svc.cluster.local/", "http://"+alertsAddress+"/").Replace(text)
}

// sh runs the commands of the page's block that holds a text, and returns what they print.
func (w *testbed) sh(with string) string {
	w.t.Helper()
	tools, err := filepath.Abs(filepath.Dir(harness.Kubectl().Path()))
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.CommandContext(w.t.Context(), "sh", "-e", "-c", w.page.Find("sh", with))
	command.Dir = w.etc
	command.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "GIT_READ_TOKEN="+gitops.Password("flux"),
		"HOOKS_KEY="+keys()[alertsPath])
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", with, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve runs the page's pipeline with agentry. Its events go to the suite as well.
func (w *testbed) serve() {
	for name, text := range map[string]string{"git.token": gitops.Password("git"), "hook.secret": gitops.HookSecret,
		"events.key": keys()[directPath]} {
		if err := os.WriteFile(filepath.Join(w.etc, name), []byte(text+"\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	text := here(w.page.Find("yaml", "kind: Pipeline"))
	at := strings.Index(text, "https://flux.example.com/")
	end := at + strings.Index(text[at:], "\n")
	text = text[:at] + w.hook + text[end:]
	text += fmt.Sprintf("    - {url: \"http://%s%s\", secretFile: /etc/agentry/events.key}\n", eventsAddress,
		directPath)
	w.told = gitops.ServeAgentry(w.t, cluster, strings.ReplaceAll(text, "/etc/agentry/", w.etc+"/"),
		gitops.DeliveryFlag(w.t, w.etc))
	w.forge.TellTo(w.told)
}
