package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const unitFile = root + "/dist/systemd/agentry.service"

// settings are those of the unit's section Service, in their order; what is set twice stands twice.
func settings(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	section := ""
	for i, line := range strings.Split(read(t, unitFile), "\n") {
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = line
		case !ok || strings.TrimSpace(key) != key:
			t.Errorf("%s:%d: %q is no setting", unitFile, i+1, line)
		case section == "[Service]":
			out[key] = append(out[key], value)
		}
	}
	return out
}

// TestSystemdUnit: the service starts with flags that the program takes, is told to reload, and may write to its own
// folders only.
func TestSystemdUnit(t *testing.T) {
	got := settings(t)
	for key, want := range map[string]string{
		"Type": "notify", "ExecReload": "/bin/kill -HUP $MAINPID", "DynamicUser": "yes", "StateDirectory": "agentry",
		"CacheDirectory": "agentry",
		"LoadCredential": "credentials:/etc/agentry/credentials", "ProtectSystem": "strict", "ProtectHome": "yes",
		"NoNewPrivileges":       "yes",
		"CapabilityBoundingSet": "", "Restart": "always",
	} {
		if !slices.Equal(got[key], []string{want}) {
			t.Errorf("%s=%q, not %q", key, got[key], want)
		}
	}
	for _, key := range []string{"User", "ReadWritePaths"} {
		if len(got[key]) > 0 {
			t.Errorf("%s=%q", key, got[key])
		}
	}
	binary := agentryBinary(t)
	start := strings.Fields(got["ExecStart"][0])
	out, err := exec.Command(binary, append(start[1:], "--log-format=loud")...).CombinedOutput()
	if start[0] != "/usr/local/bin/agentry" || err == nil || !strings.Contains(string(out), "--log-format") {
		t.Errorf("%s: %v\n%s", start, err, out)
	}
	systemdVerifies(t, start[0], binary)
}

// systemdVerifies asks systemd itself, where there is one, with a program that exists.
func systemdVerifies(t *testing.T, program, binary string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("no systemd-analyze: only what stands in the file is checked")
		return
	}
	path := filepath.Join(t.TempDir(), "agentry.service")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(read(t, unitFile), program, binary)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold=20", path).CombinedOutput(); err !=
		nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
