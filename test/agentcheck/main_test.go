package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bad := write("bad.yml", "nothing: true\n")
	warned := write("warned.yml", "metrics: {configs: [{name: ns/a}]}\n")
	variable := write("variable.yml", "metrics: {global: {external_labels: {x: $(MINE)}}}\n")
	write("folder/secret.yaml", "kind: Secret\nmetadata: {name: s}\n"+
		"stringData: {agent.yml: 'metrics: {configs: [{name: ns/a}]}'}\n")
	folder := filepath.Join(dir, "folder")
	for name, c := range map[string]struct {
		args   []string
		code   int
		stdout string
		silent bool
	}{
		"an error": {[]string{bad}, 1,
			bad + ": error[load]: error loading config file /var/lib/grafana-agent/config/agent.yml: yaml: unmarshal " +
				"errors: line 1: field nothing not found in type config.config\n", true},
		"a warning": {[]string{warned}, 0,
			warned + ": warning[destination]: metrics instance ns/a has no remote_write\n", true},
		"a warning that counts": {[]string{"-strict", warned}, 1,
			warned + ": warning[destination]: metrics instance ns/a has no remote_write\n", true},
		"an unset variable": {[]string{variable}, 1,
			variable + ": error[variable]: the config reloader finds no variable for $(MINE)\n", true},
		"a set variable": {[]string{"-env", "MINE=1", variable}, 0, "", true},
		"a folder": {[]string{"-strict", folder}, 1,
			filepath.Join(folder, "secret.yaml") +
				": warning[destination]: metrics instance ns/a has no remote_write\n", true},
		"a missing file":             {[]string{filepath.Join(dir, "missing")}, 2, "", false},
		"nothing":                    {nil, 2, "", false},
		"a variable without a value": {[]string{"-env", "MINE", variable}, 2, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(c.args, &stdout, &stderr)
			if code != c.code || stdout.String() != c.stdout || (stderr.Len() == 0) != c.silent {
				t.Errorf("exit code %d\n%s%s", code, &stdout, &stderr)
			}
		})
	}
}
