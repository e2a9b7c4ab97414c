package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram is a variable with which the test program is agentry.
const asProgram = "AGENTRY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestProgramsThatPrintCredentialsSayWhyTheyFail: what a program that a kubeconfig names writes to its standard error,
// such as that one has to log in first, gets to the user.
func TestProgramsThatPrintCredentialsSayWhyTheyFail(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	err := os.WriteFile(kubeconfig, []byte(`apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users:
  - name: a
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: sh
        args: [-c, "echo log in first >&2; exit 1"]
        interactiveMode: Never
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "import", "--cluster", "--kubeconfig", kubeconfig)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "log in first\n") {
		t.Errorf("%v:\n%s", err, &stderr)
	}
}
