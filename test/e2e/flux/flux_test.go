package flux

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

const (
	// config is the Secret with the configuration of the quickstart's agent.
	config = "Secret/monitoring/grafana-agent-config"
	// statefulSet is that agent.
	statefulSet = "StatefulSet/monitoring/grafana-agent"

	// allowDeletions in the message of a commit lets it delete more than half of the workloads.
	allowDeletions = "Agentry-Allow-Deletions: true"

	pipelineIdentity = "agentry.dev/v1alpha1 Pipeline  prod"
)

// TestFlux is one story, each step of which goes on from where the last one ended.
func TestFlux(t *testing.T) {
	w := newTestbed(t)
	w.serve()
	for _, step := range []struct {
		name string
		test func(*testing.T)
	}{
		{"what is rendered is what is in the cluster", w.first},
		{"a second pass finds nothing to do", w.noDrift},
		{"dollars are not substituted", w.dollars},
		{"nobody else can call the Receiver", w.receiver},
		{"a changed monitor changes one Secret", w.changedMonitor},
		{"the cluster reports how far a commit has come", w.delivered},
		{"a broken object changes nothing, and takes nothing with it", w.brokenObject},
		{"what the API server would refuse never reaches it", w.refusedObject},
		{"an edit of the output branch is put back", w.edited},
		{"a GrafanaAgent moves to Alloy and back in place", w.moved},
		{"a GrafanaAgent that is removed is pruned", w.removed},
		{"a Kustomization for one unit takes it over", w.oneUnit},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			outer := w.t
			w.t = t
			defer func() {
				if k, err := w.kustomization(); t.Failed() && err == nil {
					t.Logf("Kustomization %s: %s", rendered, conditions(k))
				}
				w.t = outer
			}()
			step.test(t)
		}) {
			return // The next ones would only repeat it.
		}
	}
}

func (w *testbed) first(t *testing.T) {
	input := strings.TrimSpace(gitops.Git(t, w.user.Dir, "rev-parse", "HEAD"))
	if p := w.settled(input); len(p.Held) > 0 {
		t.Errorf("held: %v", p.Held)
	}
	out, err := exec.Command(harness.Agentry().Path(), "render", "--no-pipeline", w.user.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := gitops.ByName(harness.Decode(t, out))
	if len(want) < 11 { // Two agents, with all kinds of workloads.
		t.Fatalf("only %q are rendered", want.Names())
	}
	got := w.inCluster()
	if names := got.Names(); !slices.Equal(names, want.Names()) {
		t.Fatalf("got  %q\nwant %q", names, want.Names())
	}
	for name, o := range want {
		for _, m := range gitops.Missing(gitops.AsStored(t, o).Object, got[name].Object, "") {
			t.Errorf("%s %s", name, m)
		}
		for _, entry := range got[name].GetManagedFields() {
			if entry.Manager != "kustomize-controller" && entry.Subresource != "status" {
				t.Errorf("%s has fields of %s", name, entry.Manager)
			}
		}
		// Flux forces what it applies. Another manager that did not would conflict where the API
		// server made something else of a value.
		if _, err := w.ApplyAs(t, gitops.AsStored(t, o),
			metav1.ApplyOptions{FieldManager: "e2e", DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e := w.events.await(t, directPath, "the push", of(input, "Succeeded")); e.about() != pipelineIdentity ||
		e.Severity != "info" {
		t.Errorf("the event of the push is %+v", e)
	}
	w.events.await(t, alertsPath, "that Flux has applied it", func(e event) bool {
		return e.InvolvedObject.Kind == "Kustomization" && e.Reason == "ReconciliationSucceeded" &&
			strings.HasPrefix(e.Metadata["revision"], branch)
	})
}

func (w *testbed) noDrift(t *testing.T) {
	before := w.inCluster()
	w.reconcile()
	if names := gitops.Changed(before, w.inCluster()); len(names) > 0 {
		t.Errorf("changed: %q", names)
	}
}

// reconcile makes Flux apply what it has once more.
func (w *testbed) reconcile() {
	w.t.Helper()
	k, err := w.kustomization()
	if err != nil {
		w.t.Fatal(err)
	}
	before, _, _ := unstructured.NestedString(k.Object, "status", "lastHandledReconcileAt")
	said := w.sh("annotate --overwrite")
	for _, want := range []string{w.forge.Tip(w.t, branch)[:7],
		"kustomization.kustomize.toolkit.fluxcd.io/" + rendered} {
		if !strings.Contains(said, want) {
			w.t.Errorf("the page's commands do not tell of %s:\n%s", want, said)
		}
	}
	harness.Eventually(w.t, "Flux applies it once more", func() error {
		k, err := w.kustomization()
		if err != nil {
			return err
		}
		handled, _, _ := unstructured.NestedString(k.Object, "status", "lastHandledReconcileAt")
		if asked := k.GetAnnotations()[requestedAt]; handled != asked || handled == before || !isReady(k) {
			return fmt.Errorf("asked at %s, handled %s, %s", asked, handled, conditions(k))
		}
		return nil
	})
}

func (w *testbed) dollars(t *testing.T) {
	control, err := cluster.Client(t).CoreV1().ConfigMaps("edge").Get(t.Context(), "substituted", metav1.GetOptions{})
	if err != nil || control.Data["text"] != "eaten" {
		t.Fatalf("Flux substitutes nothing, so this proves nothing: %v, %v", control, err)
	}
	text := w.config()
	// An agent reads an escaped dollar as a dollar; Flux and the agent's own variables see none.
	w.configured(`replacement: "\x24{1}/\x242/\x24{VAR}"`, `pod: "${HOSTNAME}"`)
	if decoded := fmt.Sprint(harness.Decode(t, []byte(text))[0].Object); !strings.Contains(decoded,
		"replacement:${1}/$2/${VAR} ") {
		t.Errorf("decoded it is something else: %s",
			strings.Join(regexp.MustCompile(`replacement:.*VAR\S*`).FindAllString(decoded, -1), "\n"))
	}
}

// configured looks for lines in the agent's configuration. It shows lines with the same keys.
func (w *testbed) configured(lines ...string) {
	w.t.Helper()
	text := w.config()
	for _, line := range lines {
		if !strings.Contains(text, " "+line+"\n") {
			key, _, _ := strings.Cut(line, ":")
			w.t.Errorf("no %s, but:\n%s", line,
				strings.Join(regexp.MustCompile(`(?m)^ *`+key+`:.*$`).FindAllString(text, -1), "\n"))
		}
	}
}

// config is the configuration of the quickstart's agent.
func (w *testbed) config() string {
	w.t.Helper()
	data, _, _ := unstructured.NestedStringMap(w.inCluster()[config].Object, "data")
	text, err := base64.StdEncoding.DecodeString(data["agent.yml"])
	if err != nil || len(text) == 0 {
		w.t.Fatalf("%s: %v, %v", config, data, err)
	}
	return string(text)
}

func (w *testbed) receiver(t *testing.T) {
	token, err := os.ReadFile(filepath.Join(w.etc, "receiver.token"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("/hook/%x",
		sha256.Sum256([]byte(string(token)+"agentry"+fluxSystem))); !strings.HasSuffix(w.hook, want) {
		t.Errorf("the Receiver is at %s, not at %s", w.hook, want)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.hook, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Signature", "sha256="+gitops.Sign("another token", []byte("{}")))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("a call with another token: %s", response.Status)
	}
}
