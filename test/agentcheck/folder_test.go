package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const foldersMonitors = 5100

// TestFlowLoadsAFolder renders more monitors than a Secret holds, puts the files of the Secrets into a folder as the
// kubelet does, and lets Flow mode run it: it starts all components of all files. A changed file and one with a wrong
// reference are read again.
func TestFlowLoadsAFolder(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	writeFleet(t, dir)
	cmd := exec.Command(build(t), "render", "--runtime", "alloy", "--compatibility", "current", "-o", out, dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	f := newFlow(t)
	files := f.mounted(t, out)
	folder := filepath.Join(t.TempDir(), "config-in")
	project(t, folder, "one", files)
	f.run(t, folder)
	if got := f.components(t); got["discovery.relabel"] != foldersMonitors || got["prometheus.scrape"] < len(files)-1 ||
		got["discovery.kubernetes"] != 50 {
		t.Errorf("%d files: %v", len(files), got)
	}
	for name, text := range files {
		if strings.HasPrefix(name, "targets-") {
			files[name] = strings.Replace(text, "/metrics-of-it", "/other", 1)
			break
		}
	}
	project(t, folder, "two", files)
	if why := f.readAgain(t); why != "" {
		t.Errorf("a changed file: %.500s", why)
	}
	delete(files, "config.river")
	project(t, folder, "three", files)
	if f.readAgain(t) == "" {
		t.Error("a folder without what its files use is accepted")
	}
}

// writeFleet writes monitors in 50 namespaces, with rules that cannot be compressed.
func writeFleet(t *testing.T, dir string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n" +
		"metadata: {name: agent, namespace: monitoring}\n" +
		"spec: {serviceAccountName: agent, metrics: {shards: 3, instanceSelector: {}, remoteWrite: [{url: " +
		"'http://127.0.0.1:1/push'}]}}\n" +
		"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
		"metadata: {name: main, namespace: monitoring}\n" +
		"spec: {serviceMonitorSelector: {}, serviceMonitorNamespaceSelector: {}}\n")
	rnd := rand.New(rand.NewSource(1))
	for i := range foldersMonitors {
		noise := ""
		for range 30 {
			noise += fmt.Sprintf("%016x", rnd.Uint64())
		}
		fmt.Fprintf(&b, "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"+
			"metadata: {name: app-%d, namespace: team-%d}\n"+
			"spec: {selector: {matchLabels: {app: a%d}}, endpoints: [{port: web, path: /metrics-of-it, relabelings: "+
			"[{targetLabel: noise, replacement: %q}]}]}\n", i, i%50, i, noise)
	}
	if err := os.WriteFile(filepath.Join(dir, "fleet.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mounted returns the files that the pods of a rendered StatefulSet mount, as Flow mode reads them.
func (f *flow) mounted(t *testing.T, out string) map[string]string {
	t.Helper()
	var set appsv1.StatefulSet
	decodeFile(t, glob(t, filepath.Join(out, "*", "*", "agent.statefulset.yaml"))[0], &set)
	files := map[string]string{}
	for _, s := range set.Spec.Template.Spec.Volumes[0].Projected.Sources {
		var secret corev1.Secret
		decodeFile(t, glob(t, filepath.Join(out, "*", "*", s.Secret.Name+".secret.yaml"))[0], &secret)
		for key, text := range secret.StringData {
			if len(text) > 1<<20 || strings.Contains(text, "$(") {
				t.Errorf("%s: %d bytes", s.Secret.Name, len(text))
			}
			files[strings.TrimSuffix(key, ".alloy")+".river"] = f.inFlow(text)
		}
	}
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

func decodeFile(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// project makes files the content of a folder, as the kubelet does for a projected volume: all change at once.
func project(t *testing.T, folder, version string, files map[string]string) {
	t.Helper()
	dir := filepath.Join(folder, ".."+version)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, data := filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")
	if err := os.Symlink(".."+version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, data); err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.river"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range old {
		if _, stays := files[filepath.Base(name)]; !stays {
			os.Remove(name)
		}
	}
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); err != nil &&
			!os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// components counts the components that run, by kind. All must be healthy but discoveries, which have no API server.
func (f *flow) components(t *testing.T) map[string]int {
	t.Helper()
	r, err := http.Get("http://" + f.address + "/api/v0/web/components")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var all []struct {
		Name   string
		Health struct{ State, Message string }
	}
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, c := range all {
		out[c.Name]++
		if c.Health.State == "unhealthy" && c.Name != "discovery.kubernetes" {
			t.Errorf("%s: %s", c.Name, c.Health.Message)
		}
	}
	return out
}
