package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestHelpOfKubeletService(t *testing.T) {
	var stdout bytes.Buffer
	if code := run(t.Context(), []string{"sd-aggregator", "kubelet-service", "--help"}, &stdout, io.Discard); code !=
		exitDone {
		t.Error(code)
	}
	for _, f := range kubeletFlags() {
		if name := f.Names()[0]; !strings.Contains(stdout.String(), "--"+name) {
			t.Errorf("--%s is missing", name)
		}
	}
	stdout.Reset()
	run(t.Context(), []string{"sd-aggregator", "--help"}, &stdout, io.Discard)
	if !strings.Contains(stdout.String(), "\n  kubelet-service ") {
		t.Error("the command is missing")
	}
}

// TestKubeletServiceWithoutAnAPIServer: /readyz says why it is not ready, and the program ends when told to.
func TestKubeletServiceWithoutAnAPIServer(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}], "current-context": "c"}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var log output
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"sd-aggregator", "kubelet-service", "--service", "default/kubelet", "--admin-listen",
			"127.0.0.1:0", "--kubeconfig", kubeconfig}, io.Discard, &log)
	}()
	refused := regexp.MustCompile(`lease: cannot be read or renewed.*refused`)
	for deadline := time.Now().Add(time.Minute); log.find(refused) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never says that it cannot reach the API server: %s", log.text.String())
		}
	}
	response, err := http.Get("http://" + log.find(regexp.MustCompile(`admin=(\S+)`))[1] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable ||
		!strings.Contains(string(said), "nobody leads yet") {
		t.Errorf("%s %s %v", response.Status, said, err)
	}
	cancel()
	if code := <-done; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}
