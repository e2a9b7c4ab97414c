package flux

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

const (
	fluxSystem = "flux-system"
	rendered   = "monitoring-rendered" // the page's GitRepository and Kustomization of the output branch
	branch     = "environments/prod"

	alertsAddress   = "127.0.0.1:9690" // of notification-controller, for events
	receiverAddress = "127.0.0.1:9293" // the same, for calls of Receivers
	hookAddress     = "127.0.0.1:9292" // of agentry
)

// world is a Git server, a cluster with Flux, and agentry between them.
type world struct {
	*harness.Applier
	t      *testing.T
	page   *page
	forge  *forge
	events *events
	etc    string // the credentials; where commands of the page run
	work   string // the user's clone
	hook   string // the Receiver's address
}

// newWorld is what is there before agentry starts: Flux, set up as the page says, and a repository.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, page: newPage(t), forge: newForge(t), events: newEvents(t), etc: t.TempDir(), work: filepath.Join(t.TempDir(), "work")}
	w.begin()
	w.Applier = cluster.NewApplier(t)
	w.install()
	cluster.Controllers(t, "statefulset-controller", "daemonset-controller", "deployment-controller", "replicaset-controller", "garbage-collector-controller")
	readyPods(t)
	newSources(t)
	cluster.OpenNamespaces(t, fluxSystem)
	t.Setenv("KUBECONFIG", cluster.AdminKubeconfig(t))
	t.Setenv("RUNTIME_NAMESPACE", fluxSystem)
	cluster.Launch(t, "notification-controller", harness.NotificationController(), "--watch-all-namespaces", "--health-addr=127.0.0.1:9441",
		"--metrics-addr=127.0.0.1:9442", "--events-addr="+alertsAddress, "--receiverAddr="+receiverAddress)
	cluster.Launch(t, "kustomize-controller", harness.KustomizeController(), "--watch-all-namespaces", "--health-addr=127.0.0.1:9443",
		"--metrics-addr=127.0.0.1:9444", "--events-addr=http://"+alertsAddress+"/", "--requeue-dependency=1s")
	w.setUp()
	return w
}

// begin makes the repository: the quickstart, and what the suite looks at besides.
func (w *world) begin() {
	git(w.t, filepath.Dir(w.work), "clone", "-q", w.forge.url("dev"), w.work)
	if err := os.CopyFS(w.work, os.DirFS(filepath.Join(harness.Root(), "examples", "quickstart"))); err != nil {
		w.t.Fatal(err)
	}
	for file, to := range map[string]string{"edge.yaml": "edge/agent.yaml", "edge-cluster.yaml": "cluster/edge.yaml", "dollars.yaml": "team-shop/dollars.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			w.t.Fatal(err)
		}
		w.write(to, string(text))
	}
	w.edit("monitoring/agent.yaml", "cluster: quickstart", "cluster: quickstart\n      pod: ${HOSTNAME}")
	w.push("Start")
}

// install makes the API server know the kinds of Flux.
func (w *world) install() {
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
func (w *world) setUp() {
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
func (w *world) apply(kind string) {
	for _, b := range w.page.blocks {
		if b.language != "yaml" || !strings.Contains(b.text, "kind: "+kind+"\n") {
			continue
		}
		b.used = true
		for _, o := range harness.Decode(w.t, []byte(here(b.text))) {
			if o.GetKind() != kind {
				continue
			}
			if kind == "Kustomization" {
				if err := unstructured.SetNestedStringMap(o.Object, map[string]string{"VAR": "eaten", "HOSTNAME": "eaten"}, "spec", "postBuild", "substitute"); err != nil {
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
	return strings.NewReplacer("https://git.example.com/", "http://"+forgeAddress+"/", "https://hooks.example.com/flux", "http://"+eventsAddress+alertsPath,
		"http://notification-controller.flux-system.svc.cluster.local/", "http://"+alertsAddress+"/").Replace(text)
}

// sh runs the commands of the page's block that holds a text, and returns what they print.
func (w *world) sh(with string) string {
	w.t.Helper()
	tools, err := filepath.Abs(filepath.Dir(harness.Kubectl().Path()))
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.CommandContext(w.t.Context(), "sh", "-e", "-c", w.page.find("sh", with))
	command.Dir = w.etc
	command.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "GIT_READ_TOKEN="+passwords()["flux"], "HOOKS_KEY="+keys()[alertsPath])
	out, err := command.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", with, err, out)
	}
	return strings.TrimSpace(string(out))
}

// serve runs the page's pipeline with agentry. Its events go to the suite as well.
func (w *world) serve() {
	for name, text := range map[string]string{"git.token": passwords()["git"], "hook.secret": hookSecret, "events.key": keys()[directPath]} {
		if err := os.WriteFile(filepath.Join(w.etc, name), []byte(text+"\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	text := here(w.page.find("yaml", "kind: Pipeline"))
	at := strings.Index(text, "https://flux.example.com/")
	end := at + strings.Index(text[at:], "\n")
	text = text[:at] + w.hook + text[end:]
	text += fmt.Sprintf("    - {url: \"http://%s%s\", secretFile: /etc/agentry/events.key}\n", eventsAddress, directPath)
	file := filepath.Join(w.t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/etc/agentry/", w.etc+"/")), 0o600); err != nil {
		w.t.Fatal(err)
	}
	cluster.Launch(w.t, "agentry", harness.Agentry(), "serve", "-f", file, "--cache-dir", filepath.Join(w.t.TempDir(), "cache"), "--listen", hookAddress)
	harness.Eventually(w.t, "agentry serve", func() error {
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9393/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	w.forge.tellTo("http://" + hookAddress + "/hook/gitea/" + forgeAddress + "/" + repository)
}
