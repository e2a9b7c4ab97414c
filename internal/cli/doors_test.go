package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryDoorGivesTheSameBytes renders each conformance case in three ways: its folder alone, by a pipeline file with
// the files at hand, and by the service, which reads a commit. The service has written something else before, because
// it begins no branch with an error.
func TestEveryDoorGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	repo, remote := filepath.Join(work, "repo"), filepath.Join(work, "remote.git")
	var fleet strings.Builder
	modes, texts := map[string]string{}, map[string][]byte{}
	const all = "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
		"metadata: {name: all, namespace: all}\nspec: {metrics: {instanceSelector: {}}}\n" +
		"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
		"metadata: {name: all, namespace: all}\nspec:\n  serviceMonitorSelector: {}\n" +
		"  serviceMonitorNamespaceSelector: {}\n  podMonitorSelector: {}\n  podMonitorNamespaceSelector: {}\n" +
		"  probeSelector: {}\n  probeNamespaceSelector: {}\n  scrapeConfigSelector: {}\n" +
		"  scrapeConfigNamespaceSelector: {}\n"
	const seed = "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
		"metadata: {name: first, namespace: first}\nspec: {}\n"
	for of, mode := range map[string]string{"operator": "operator", "prometheus-operator": "current"} {
		inputs, err := filepath.Glob(filepath.Join("..", "..", "test", "conformance", of, "*", "input.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, input := range inputs {
			name := of + "-" + filepath.Base(filepath.Dir(input))
			text, err := os.ReadFile(input)
			if err == nil {
				err = os.MkdirAll(filepath.Join(repo, name), 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(repo, name, "input.yaml"), []byte(seed), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if mode == "current" { // the operator's cases have no GrafanaAgent
				text = append(text, all...)
			}
			modes[name], texts[name] = mode, text
			fmt.Fprintf(&fleet, "---\napiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: %s}\nspec:\n"+
				"  compatibility: %s\n  secrets: {policy: plaintext}\n  limits: {deletions: 100%%, allowEmpty: true}\n"+
				"  sources: [{url: 'file://%s', ref: {branch: main}, paths: [%s]}]\n  output: {branch: out/%[1]s}\n",
				name, mode, remote, name)
		}
	}
	if len(modes) < 180 {
		t.Fatalf("only %d cases", len(modes))
	}
	run := func(program string, args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = repo
		text, err := cmd.CombinedOutput()
		if err != nil && (program != "agentry" || cmd.ProcessState.ExitCode() != 1) {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, text)
		}
		return string(text)
	}
	file := filepath.Join(work, "fleet.yaml")
	if err := os.WriteFile(file, []byte(fleet.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run("git", "init", "-q", "-b", "main", ".")
	run("git", "add", ".")
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Cases")
	run("git", "clone", "-q", "--bare", ".", remote)
	run("git", "remote", "add", "origin", "file://"+remote)
	atHand, cache := filepath.Join(work, "at-hand"), filepath.Join(work, "cache")
	run("agentry", "sync", "-f", file, "--cache-dir", cache)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(repo, name, "input.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-a", "-m", "The cases")
	run("git", "push", "-q", "file://"+remote, "main")
	run("agentry", "render", "-f", file, "--cache-dir", cache, "-o", atHand)
	run("agentry", "sync", "-f", file, "--cache-dir", cache)
	run("git", "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
	pushed := 0
	for name, mode := range modes {
		alone, ofService := filepath.Join(work, "alone", name), filepath.Join(work, "service", name)
		Run(t.Context(), []string{"agentry", "render", "--compatibility", mode, "--secrets", "plaintext", "-o", alone,
			"--set", "spec.limits.allowEmpty=true", filepath.Join(repo, name)},
			Env{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: os.LookupEnv})
		want := manifests(t, alone)
		if diff := cmp.Diff(want, manifests(t, filepath.Join(atHand, name))); diff != "" {
			t.Errorf("%s: -alone +with the pipeline file:\n%s", name, diff)
		}
		if exec.Command("git", "-C", repo, "rev-parse", "-q", "--verify", "origin/out/"+name).Run() != nil {
			continue
		}
		pushed++
		if err := os.MkdirAll(ofService, 0o755); err != nil {
			t.Fatal(err)
		}
		run("git", "--work-tree", ofService, "checkout", "-f", "origin/out/"+name, "--", ".")
		if diff := cmp.Diff(want, manifests(t, ofService)); diff != "" {
			t.Errorf("%s: -alone +by the service:\n%s", name, diff)
		}
	}
	if pushed < 180 {
		t.Errorf("the service wrote only %d of %d", pushed, len(modes))
	}
}
