package rendered_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
	"github.com/agentry-dev/agentry/test/agentcheck/rendered"
)

const statefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: agent, namespace: ns}
spec:
  template:
    spec:
      volumes: [{name: config, secret: {secretName: agent-config}}]
      containers:
      - name: config-reloader
        args: [--statefulset-ordinal-from-envvar=POD_NAME]
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: AGENTRY_x, valueFrom: {secretKeyRef: {name: s, key: k}}}
      - name: grafana-agent
        args: [-config.file=x]
        env:
        - {name: SHARD, value: "1"}
        - {name: HOSTNAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
`

func TestRead(t *testing.T) {
	kubelet := func(more map[string]string) map[string]string {
		env := map[string]string{"HOSTNAME": "agent-0", "KUBERNETES_SERVICE_HOST": "10.96.0.1",
			"KUBERNETES_SERVICE_PORT": "443"}
		for name, value := range more {
			env[name] = value
		}
		return env
	}
	pod := check.Pod{
		Reloader: kubelet(map[string]string{"POD_NAME": "agent-0", "AGENTRY_x": "from-a-secret",
			"STATEFULSET_ORDINAL_NUMBER": "0"}),
		Agent: kubelet(map[string]string{"SHARD": "1", "HOSTNAME": "spec-nodeName"}),
		Args:  []string{"-config.file=x"},
	}
	plain := "apiVersion: v1\nkind: Secret\nmetadata: {name: agent-config, namespace: ns}\n"
	for name, c := range map[string]struct {
		secret string
		want   rendered.Config
	}{
		"plain text": {
			plain + "stringData: {agent.yml: 'text'}\n",
			rendered.Config{Workload: "StatefulSet/ns/agent", Text: "text", Pod: pod},
		},
		"encoded": {
			plain + "data: {agent.yml: " + base64.StdEncoding.EncodeToString([]byte("text")) + "}\n",
			rendered.Config{Workload: "StatefulSet/ns/agent", Text: "text", Pod: pod},
		},
		"zipped": {
			plain + "data: {agent.yml: " + base64.StdEncoding.EncodeToString(zip(t, "text")) + "}\n",
			rendered.Config{Workload: "StatefulSet/ns/agent", Text: "text", Pod: pod},
		},
		"mounted by nothing in its namespace": {
			"apiVersion: v1\nkind: Secret\nmetadata: {name: agent-config, namespace: other}\n" +
				"stringData: {agent.yml: 'text'}\n",
			rendered.Config{Text: "text", Pod: check.DefaultPod()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "all.yaml")
			other := "apiVersion: v1\nkind: Secret\nmetadata: {name: other, namespace: ns}\nstringData: {key: value}\n"
			if err := os.WriteFile(file, fmt.Appendf(nil, "%s---%s---\n%s", c.secret, statefulSet, other),
				0o600); err != nil {
				t.Fatal(err)
			}
			got, err := rendered.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			c.want.File = file
			if d := cmp.Diff([]rendered.Config{c.want}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"what is no YAML":       "a: [",
		"a Secret of bad types": "kind: Secret\nstringData: [x]",
		"a broken archive": "kind: Secret\ndata: {agent.yml: " +
			base64.StdEncoding.EncodeToString([]byte("\x1f\x8bx")) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := rendered.Read(dir); err == nil {
				t.Errorf("accepted: %v", got)
			}
		})
	}
	if _, err := rendered.Read(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("accepted a missing folder")
	}
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
