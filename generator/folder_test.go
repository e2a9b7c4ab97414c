package generator_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/workload"
)

// largeFleet is a fleet whose configuration is larger than a Secret, even compressed. The bytes are in the rules of
// each monitor.
func largeFleet(n int) []manifest.File {
	agent, monitors := fleet(n)
	for i := range monitors {
		rule := fmt.Sprintf("      relabelings:\n        - {targetLabel: unique, replacement: %q}\n",
			incompressible(1200 + i)[:1200])
		monitors[i].Data = []byte(strings.Replace(string(monitors[i].Data), "      relabelings:\n", rule, 1))
	}
	return append([]manifest.File{agent}, monitors...)
}

func renderFolder(t *testing.T, files []manifest.File) (*generator.Output, map[string][]byte) {
	t.Helper()
	out := generator.Render(loadAll(files),
		generator.Options{Compatibility: manifest.Current, Runtimes: runtimes.Choice{Default: alloy.Runtime()}}, nil)
	for _, d := range out.Diags {
		if d.Severity == diag.Error || d.Code == diag.ObjectTooLarge {
			t.Fatal(d)
		}
	}
	found := map[string][]byte{}
	for _, f := range out.Units[0].Files {
		found[f.Path] = f.Data
	}
	return out, found
}

// TestSeveralSecrets renders a configuration that no Secret can hold for Alloy: each of its Secrets is small enough,
// the pods mount all of them, and an edit of a monitor changes one of them.
func TestSeveralSecrets(t *testing.T) {
	files := largeFleet(2000)
	before, found := renderFolder(t, files)
	set := appsv1.StatefulSet{}
	if err := yaml.Unmarshal(found["agent.statefulset.yaml"], &set); err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	sources, jobs := pod.Volumes[0].Projected.Sources, 0
	if len(sources) < 8 || workload.ConfigSecret(&set.Spec.Template) != "agent-config" {
		t.Errorf("the pods mount %d Secrets, first %s", len(sources), workload.ConfigSecret(&set.Spec.Template))
	}
	for _, s := range sources {
		text := workload.Configuration(found[s.Secret.Name+".secret.yaml"])
		if len(text) == 0 || len(text) > 1<<20 {
			t.Errorf("%s has %d bytes", s.Secret.Name, len(text))
		}
		if bytes.Contains(text, []byte("$(")) {
			t.Errorf("%s: the config reloader does not replace variables here", s.Secret.Name)
		}
		jobs += bytes.Count(text, []byte("\ndiscovery.relabel \""))
	}
	if jobs != 4000 {
		t.Errorf("%d jobs", jobs)
	}
	reloader, process := strings.Join(pod.Containers[0].Args, " "), strings.Join(pod.Containers[1].Args, " ")
	if !strings.HasPrefix(process, "run /var/lib/grafana-agent/config-in ") ||
		!strings.Contains(reloader, "--watched-dir=/var/lib/grafana-agent/config-in") {
		t.Errorf("arguments %s and %s", process, reloader)
	}

	files[777].Data = bytes.Replace(files[777].Data, []byte("path: /metrics"), []byte("path: /other"), 1)
	after, now := renderFolder(t, files)
	var changed []string
	for path, text := range now {
		if !bytes.Equal(text, found[path]) {
			changed = append(changed, path)
		}
	}
	if len(changed) != 1 || len(now) != len(found) || !strings.HasPrefix(changed[0], "agent-config-targets-") {
		t.Errorf("the edit of a monitor changes %v", changed)
	}
	d := difference.Compare(difference.Match(manifests(before), manifests(after)))
	if len(d.Objects) != 1 || d.Objects[0].ID.Name != "agent-config" || len(d.Objects[0].Changes) != 1 ||
		!strings.Contains(d.Objects[0].Changes[0].Path.String(), "metrics_path") {
		t.Errorf("%+v", d.Objects)
	}
}

// TestTooLargeComponent: what is in one component cannot be divided, and is held like all else that is too large.
func TestTooLargeComponent(t *testing.T) {
	one := faultyAgent + faultyMonitor("one", "")
	huge := one + faultyMonitor("huge", ", relabelings: [{targetLabel: x, replacement: "+incompressible(9<<18)+"}]")
	out := generator.Render(readText(huge), generator.Options{Runtimes: runtimes.Choice{Default: alloy.Runtime()}}, nil)
	told := false
	for _, d := range out.Diags {
		told = told || d.Code == diag.ObjectTooLarge &&
			strings.Contains(d.Message, "discovery.relabel.serviceMonitor__m__huge__0 alone has 2") && d.Hint != ""
	}
	if !told {
		t.Errorf("not told: %v", out.Diags)
	}
}
