package flux

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/e2e/harness/gitops"
)

// sealed is a testbed in which Flux decrypts what agentry encrypts.
type sealed struct {
	*testbed
	pipeline string
}

// TestSOPS: in the cluster are the values that the policy plaintext renders, also after a pass without a change and
// after one for another recipient, neither of which changes anything there.
func TestSOPS(t *testing.T) {
	w, others := newPasses(t, "sops.txtar")
	w.branch, w.output = "environments/sealed", kustomizationIn("sealed", "rendered")
	s := &sealed{testbed: w, pipeline: others["pipeline.yaml"]}
	old, oldKey := recipient(t, filepath.Join(harness.Root(), "inputs", "sops", "testdata", "age.agekey"))
	fresh, freshKey := recipient(t, filepath.Join("testdata", "rotated.agekey"))
	cluster.OpenNamespaces(t, "sealed")
	s.key(oldKey)
	s.encrypt(old)
	w.launch()
	for _, o := range harness.Decode(t, []byte(others["flux.yaml"])) {
		if err := w.Apply(t, o, false); err != nil {
			t.Fatal(err)
		}
	}
	w.applied(w.forge.Tip(t, s.branch))
	s.isClear()

	before, commit := s.inCluster(), w.forge.Tip(t, s.branch)
	s.encrypt(old)
	if tip := w.forge.Tip(t, s.branch); tip != commit {
		t.Errorf("a pass without a change commits:\n%s", w.forge.Git(t, "show", "--stat", tip))
	}
	w.handled(w.output)
	s.isSame(before, "a pass without a change")

	s.encrypt(fresh)
	w.fetch(w.output)
	w.refused(w.forge.Tip(t, s.branch))
	s.key(freshKey)
	w.handled(w.output)
	w.applied(w.forge.Tip(t, s.branch))
	s.isClear()
	s.isSame(before, "another recipient")

	w.edit("in/login.yaml", "hunter2", "hunter3")
	w.push("Another password")
	s.encrypt(fresh)
	w.fetch(w.output)
	w.applied(w.forge.Tip(t, s.branch))
	s.isClear()
	if len(gitops.Changed(before, s.inCluster())) == 0 {
		t.Error("another password changes nothing")
	}
}

// recipient reads a private key of age, and who can decrypt with it.
func recipient(t *testing.T, file string) (public, key string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "public key: ")
	return strings.Fields(after)[0], string(text)
}

// key gives Flux a private key, in place of the one that it had.
func (s *sealed) key(private string) {
	s.t.Helper()
	if err := s.Apply(s.t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "sops-age", "namespace": "sealed"},
		"stringData": map[string]any{"age.agekey": private},
	}}, false); err != nil {
		s.t.Fatal(err)
	}
}

// encrypt makes a pass for one recipient, and looks at what it writes.
func (s *sealed) encrypt(public string) {
	s.t.Helper()
	if report := s.sync(strings.ReplaceAll(s.pipeline, "RECIPIENT", public)); strings.Contains(report, "error") {
		s.t.Fatal(report)
	}
	if log := s.forge.Git(s.t, "log", "-p", s.branch); strings.Contains(log, "hunter") {
		s.t.Fatal("a password is on the branch")
	}
	secrets := 0
	for name, o := range s.forge.Manifests(s.t, s.branch) {
		if o.GetKind() != "Secret" {
			continue
		}
		secrets++
		recipients, _, _ := unstructured.NestedSlice(o.Object, "sops", "age")
		if len(recipients) != 1 || recipients[0].(map[string]any)["recipient"] != public {
			s.t.Errorf("%s is not encrypted for %s alone", name, public)
		}
	}
	if secrets < 3 {
		s.t.Fatalf("only %d Secrets are on the branch", secrets)
	}
}

// isClear holds that what is in the cluster is what is rendered in clear.
func (s *sealed) isClear() {
	s.t.Helper()
	out, err := exec.Command(harness.Agentry().Path(), "render", "--no-pipeline", "--secrets", "plaintext",
		filepath.Join(s.user.Dir, "in")).Output()
	if err != nil {
		s.t.Fatal(err)
	}
	want, got := gitops.ByName(harness.Decode(s.t, out)), s.inCluster()
	if names := strings.Join(got.Names(), " "); names != strings.Join(want.Names(), " ") {
		s.t.Fatalf("in the cluster are %s, not %s", names, want.Names())
	}
	for name, o := range want {
		for _, m := range gitops.Missing(gitops.AsStored(s.t, o).Object, got[name].Object, "") {
			s.t.Errorf("%s %s", name, m)
		}
		if _, ok := got[name].Object["sops"]; ok ||
			o.GetKind() == "Secret" && len(got[name].Object["data"].(map[string]any)) == 0 {
			s.t.Errorf("%s is not decrypted", name)
		}
	}
}

// isSame holds that nothing changed in the cluster, not even who applied it.
func (s *sealed) isSame(before gitops.Objects, after string) {
	s.t.Helper()
	if names := gitops.Changed(before, s.inCluster()); len(names) > 0 {
		s.t.Errorf("%s changes %q in the cluster", after, names)
	}
}
