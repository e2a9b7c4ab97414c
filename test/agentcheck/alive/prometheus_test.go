package alive

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// startPrometheus starts one that also stores what it is sent.
func startPrometheus(t *testing.T, configuration string) *process {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := prometheusBinary(t)
	return start(t, "Prometheus", func(addresses []string) *exec.Cmd {
		return exec.Command(binary, "--web.enable-remote-write-receiver", "--web.listen-address="+addresses[0],
			"--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"))
	})
}

// prometheusBinary is the one that is installed, or that make prometheus-deps fetched.
func prometheusBinary(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("prometheus"); err == nil {
		return found
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := exec.LookPath(filepath.Join(cache, "agentry-test", "prometheus", "usr", "bin", "prometheus"))
	if err != nil {
		t.Fatalf("there is no Prometheus; make prometheus-deps fetches it: %v", err)
	}
	return found
}
