package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/gittest"
)

// canaryObjects has a Secret whose values are in the output, and canarySOPS encrypts them for somebody.
const (
	canaryObjects = canaryAgent + `---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: login, namespace: shop}
spec:
  selector: {}
  endpoints: [{port: http, basicAuth: {username: {name: login, key: user}, password: {name: login, key: password}}}]
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {user: CANARY, password: CANARY}
---
apiVersion: v1
kind: Secret
metadata: {name: passed, namespace: shop}
stringData: {password: CANARY}
`
	canarySOPS = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  compatibility: current
  sources: [{url: "file://FOLDER/repo", ref: {branch: main}, paths: [in]}]
  output: {branch: prod}
  passThrough: {kinds: [Secret]}
  limits: {deletions: 100%}
  secrets:
    policy: sops
    restartOnChange: true
    sops: {age: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p], hmacKeyFile: hmac.key}
`
)

// git runs Git in the repository of the inputs.
func git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = "repo"
	cmd.Env = append(os.Environ(), gittest.Env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestNoSecretGetsOutUnderSOPS makes each mistake with credentials in a pipeline that encrypts. Neither the output of
// commands, nor the folder of render, nor the output branch contains one of them, or a value of a rendered Secret.
func TestNoSecretGetsOutUnderSOPS(t *testing.T) {
	mistakes, folder := corpus(t, "manifests.txtar"), t.TempDir()
	t.Chdir(folder)
	objects := &canaries{forms: map[string]string{}}
	writeAll(t, map[string]string{
		"repo/in/objects.yaml": objects.hide(canaryObjects),
		"pipeline.yaml":        strings.Replace(canarySOPS, "FOLDER", filepath.ToSlash(folder), 1),
		"hmac.key":             strings.Repeat("0123456789abcdef", 2),
	})
	git(t, "init", "-q", "-b", "main", ".")
	commit := func() {
		t.Helper()
		git(t, "add", "-A")
		git(t, "commit", "-q", "--allow-empty", "-m", "Change")
	}
	commit()
	run := func(t *testing.T, commands []string, all ...*canaries) {
		t.Helper()
		for _, args := range commands {
			words := append(strings.Fields(args), "-f", "pipeline.yaml")
			if words[0] != "doctor" {
				words = append(words, "--cache-dir", "cache")
			}
			out, errs := runCanary(t, words...)
			for _, c := range all {
				c.check(t, args, out+errs)
			}
		}
		for _, c := range all {
			c.checkFolder(t, "out")
			c.checkFolder(t, "cache")
			c.check(t, "the branch", git(t, "log", "-p", "prod"))
		}
	}
	each := []string{"sync --metrics-file metrics.prom", "tree", "render -o out"}
	run(t, append(each, "sync --dry-run", "check", "render", "doctor"), objects)
	if n := strings.Count(git(t, "log", "-p", "prod"), "+# agentry-seal: 2 "); n != 4 {
		t.Fatalf("%d Secrets are encrypted, want 4", n)
	}
	for i, file := range mistakes {
		if file.Name == "secret-encrypted.yaml" {
			continue // what SOPS writes into a Secret that it encrypts is passed through as it is
		}
		if testing.Short() && i%4 != 0 {
			continue // make race has all
		}
		t.Run(file.Name, func(t *testing.T) {
			text, secrets := canaryFile(file)
			writeAll(t, map[string]string{"repo/in/bad.yaml": text})
			commit()
			run(t, each, objects, secrets)
		})
	}
}
