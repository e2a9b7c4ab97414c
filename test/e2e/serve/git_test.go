package serve

import (
	"fmt"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository serves a repository with a GrafanaAgent over HTTP, to be read and written by
// anybody, and returns its folder and its URL.
func repository(t *testing.T) (dir, url string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "monitoring.git")
	git(t, root, "init", "-q", "--bare", "-b", "main", dir)
	git(t, dir, "config", "http.receivepack", "true")
	work := filepath.Join(root, "work")
	git(t, root, "init", "-q", "-b", "main", work)
	agent := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
		"metadata: {name: agent, namespace: monitoring}\n" +
		"spec: {serviceAccountName: agent, image: grafana/agent:v0.44.8}\n"
	if err := os.WriteFile(filepath.Join(work, "agent.yaml"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, work, "add", ".")
	git(t, work, "commit", "-q", "-m", "An agent")
	git(t, work, "push", "-q", dir, "main")
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: os.Stderr,
	})
	t.Cleanup(server.Close)
	return dir, server.URL + "/monitoring.git"
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// pipelines writes pipeline files, p0 to p(n-1), and returns their folder.
func pipelines(t *testing.T, url string, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf(`apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: p%d}
spec:
  interval: 1h
  sources: [{url: %q, ref: {branch: main}}]
  output: {branch: environments/p%d}
`, i, url, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
