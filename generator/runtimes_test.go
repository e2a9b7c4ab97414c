package generator_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/river/parser"
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
	"github.com/agentry-dev/agentry/internal/panics"
)

// TestPodsAreTheRuntimes renders for a runtime that is none of the list: nothing of the agent
// is in the pods, the Services and the Secrets then.
func TestPodsAreTheRuntimes(t *testing.T) {
	config := func() runtimes.Text { return runtimes.Text{Bytes: []byte("its own language\n")} }
	other := runtimes.Runtime{
		Name:  "other",
		Check: func(c *model.Config) (*model.Config, diag.List) { return c, nil },
		Print: func(*model.Config, func([]byte)) runtimes.Printed {
			return runtimes.Printed{Text: config(), Redacted: config}
		}, Masked: func(*model.Config) (string, string) {
			return "", ""
		},
		ConfigKey: "config.other", CompressAboveBytes: 1 << 10,
		Container: "other", Port: 4711, GraceSeconds: 7,
		ConfigVolumes: func(secret string) ([]corev1.Volume, []corev1.VolumeMount) {
			return []corev1.Volume{{Name: runtimes.ConfigVolume,
					VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}},
				[]corev1.VolumeMount{{Name: runtimes.ConfigVolume, MountPath: "/etc/other"}}
		},
		FreeArgs: func(*v1alpha1.GrafanaAgentSpec) map[string]bool { return nil },
		Containers: func(p runtimes.Pod) []corev1.Container {
			return []corev1.Container{{Name: "other", Image: "example.com/other:1", VolumeMounts: p.Mounts}}
		},
	}
	out := generator.Render(readText(faultyAgent+faultyMonitor("one", "")),
		generator.Options{Runtimes: runtimes.Choice{Default: other}}, nil)
	if out.Diags.HasErrors() || len(out.Units) != 1 {
		t.Fatal(out.Diags)
	}
	files := map[string]string{}
	for _, f := range out.Units[0].Files {
		files[f.Path] = string(f.Data)
	}
	for path, want := range map[string][]string{
		"a.statefulset.yaml": {"name: other", "image: example.com/other:1", "mountPath: /etc/other",
			"terminationGracePeriodSeconds: 7", "default-container: other"},
		"a-config.secret.yaml":    {"config.other: |\n    its own language\n"},
		"a-operated.service.yaml": {"port: 4711"},
	} {
		for _, text := range want {
			if !strings.Contains(files[path], text) {
				t.Errorf("%s has no %q:\n%s", path, text, files[path])
			}
		}
		for _, text := range []string{"config-reloader", "grafana/agent", "agent.yml", "8080"} {
			if strings.Contains(files[path], text) {
				t.Errorf("%s has the agent's %q", path, text)
			}
		}
	}
}

// TestAPanicInAWorkerIsTheCallers: units are rendered in goroutines, where a panic would end the process.
func TestAPanicInAWorkerIsTheCallers(t *testing.T) {
	broken := generator.Runtimes()[0]
	broken.Check = func(*model.Config) (*model.Config, diag.List) { panic("the password is hunter2") }
	inputs := readText(faultyAgent + "---\n" + strings.ReplaceAll(faultyAgent, "namespace: m", "namespace: n"))
	defer func() {
		if err, ok := recover().(*panics.Error); !ok || err.Value != "string" {
			t.Errorf("recovered %v", err)
		}
	}()
	generator.Render(inputs, generator.Options{Runtimes: runtimes.Choice{Default: broken}}, nil)
}

// TestReviewersSeeNoSecrets: the text beside a configuration of a case, which is printed only once if it hides nothing,
// is the one that is printed without secret values.
func TestReviewersSeeNoSecrets(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	for _, r := range []struct {
		runtimes.Runtime
		redacted func(*model.Config) runtimes.Text
	}{{agentruntime.Runtime(), agentruntime.PrintRedacted}, {alloy.Runtime(), alloy.PrintRedacted}} {
		hidden, once := 0, 0
		for _, file := range files {
			set := readText(string(read(t, file)))
			for _, policy := range []secretref.Policy{secretref.Reference, secretref.Plaintext} {
				for _, h := range hierarchy.Build(set, nil) {
					built := compile.Hierarchy(h, set, compile.Options{Secrets: secretref.Policies{Default: policy}})
					for _, c := range built.All() {
						if c == nil {
							continue
						}
						checked, _ := r.Check(c)
						printed := r.Print(checked, nil)
						shown := printed.Redacted()
						if diff := cmp.Diff(r.redacted(checked).String(), shown.String()); diff != "" {
							t.Errorf("%s, %s, %s: (-alone +with the text):\n%s", r.Name, file, policy, diff)
						}
						switch {
						case !bytes.Equal(printed.Bytes, shown.Bytes):
							hidden++
						case len(shown.Bytes) > 0 && &printed.Bytes[0] == &shown.Bytes[0]:
							once++
						}
					}
				}
			}
		}
		if hidden < 10 || once < 100 {
			t.Errorf("%s: %d configurations have secrets, and %d are printed once", r.Name, hidden, once)
		}
	}
}

// TestAlloyReadsWhatIsRendered: each file of a configuration is in Alloy's language, for all conformance cases and
// examples and for fixtures that are edited at random.
func TestAlloyReadsWhatIsRendered(t *testing.T) {
	texts := 0
	hold := func(name string, out *generator.Output) {
		for _, u := range out.Units {
			for _, f := range u.Files {
				if f.ConfigKey == "" {
					continue
				}
				texts++
				text := workload.Configuration(f.Data)
				if _, err := parser.ParseFile(f.Path, text); err != nil {
					t.Errorf("%s, %s: %v\n%s", name, u.Name, err, text)
				}
			}
		}
	}
	for name, out := range corpusAndExamples(t, alloy.Runtime()) {
		hold(name, out)
	}
	for seed := range int64(share(20 * seeds)) {
		w := newFixture(seed)
		for range 6 {
			edit := w.edit()
			for _, policy := range policies() {
				hold(edit, renderAll(w.parse(), generator.Options{Secrets: policy, Compatibility: manifest.Current,
					Runtimes: runtimes.Choice{Default: alloy.Runtime()}}))
			}
		}
	}
	if texts < share(150) {
		t.Errorf("only %d texts were read", texts)
	}
}

// TestManyPodsTakeNoMemory: however many pods a cluster asks for, an explanation counts only as many shards as there
// may be.
func TestManyPodsTakeNoMemory(t *testing.T) {
	clustered, err := generator.RuntimesAt("alloy", "", true)
	if err != nil {
		t.Fatal(err)
	}
	agent := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: a, namespace: m}\n" +
		"spec: {metrics: {replicas: 2000000, instanceSelector: {}}}\n---\n" +
		"apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\nmetadata: {name: i, namespace: m}\n" +
		"spec: {remoteWrite: [{url: 'http://mimir/push'}], serviceMonitorSelector: {}}\n"
	out := generator.Render(readText(agent), generator.Options{Runtimes: clustered}, nil)
	units := out.Explained().Units
	if len(units) != 1 {
		t.Fatal(out.Diags)
	}
	if n := len(units[0].Print().Shards); n != compile.MaxShards {
		t.Errorf("%d shards have memory, want %d", n, compile.MaxShards)
	}
}
