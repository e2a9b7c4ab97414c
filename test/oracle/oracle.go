// Package oracle builds the programs of others that tests compare agentry with, at the versions that the modules of
// test/e2e/tools name.
package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Helm builds the command line of Helm 3, and returns its path. The test is skipped by go test -short.
func Helm(t *testing.T) string { return build(t, "helm", "helm.sh/helm/v3/cmd/helm") }

// Kustomize builds the command line of kustomize, and returns its path. The test is skipped by go test -short.
func Kustomize(t *testing.T) string {
	return build(t, "kustomize", "sigs.k8s.io/kustomize/kustomize/v5")
}

func build(t *testing.T, name, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("compiles %s, which takes a minute the first time: make race runs it", name)
	}
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	command := exec.Command("go", "build", "-o", program, pkg)
	command.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "test", "e2e", "tools", name)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // also with the race detector, so that it is compiled once
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return program
}
