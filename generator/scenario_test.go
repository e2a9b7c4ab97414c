package generator_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/mirror"
	"github.com/agentry-dev/agentry/generator/passthrough"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/selfmonitoring"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestScenarios renders the files below in/ of each archive in testdata and compares the
// report with its file "diagnostics" and the output with what it has below out/. An archive
// shows the output files that matter to it, by their names: with -update those are rewritten.
// Lines like "secrets: plaintext" in its comment set the options.
func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want := txtar.Format(archive)
			rewrite(t, archive)
			got := txtar.Format(archive)
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got), run with -update to accept:\n%s", diff)
			}
		})
	}
}

// rewrite puts what is rendered in place of what an archive expects.
func rewrite(t *testing.T, archive *txtar.Archive) {
	t.Helper()
	opts, kinds := scenarioOptions(t, string(archive.Comment)), passedKinds(t, string(archive.Comment))
	var results []manifest.Result
	for _, f := range archive.Files {
		if f.Name == pipelineFile {
			opts.Changes = changesIn(t, f.Data)
		}
		if file, ok := strings.CutPrefix(f.Name, "in/"); ok {
			results = append(results, manifest.Parse(manifest.File{Path: file, Data: f.Data},
				manifest.Options{Compatibility: opts.Compatibility, PassThrough: kinds}))
		}
	}
	out := renderAll(results, opts)
	written := map[string][]byte{}
	for _, u := range out.Units {
		var list strings.Builder
		fmt.Fprintf(&list, "failed: %t, paused: %t\n", u.Failed, u.Paused)
		for _, h := range u.Held {
			fmt.Fprintln(&list, "left out:", h.ID)
		}
		for _, f := range u.Files {
			written["out/"+u.Name+"/"+f.Path] = f.Data
			fmt.Fprintln(&list, f.Path)
		}
		written["out/"+u.Name] = []byte(list.String())
	}
	var report strings.Builder
	for _, d := range out.Diags {
		fmt.Fprintln(&report, d)
		if d.Hint != "" {
			fmt.Fprintf(&report, "\thint: %s\n", d.Hint)
		}
		for _, o := range d.Related {
			fmt.Fprintf(&report, "\trelated: %s\n", o)
		}
	}
	written["diagnostics"] = []byte(report.String())
	for i := range archive.Files {
		f := &archive.Files[i]
		if strings.HasPrefix(f.Name, "in/") || f.Name == pipelineFile {
			continue
		}
		data, ok := written[f.Name]
		if !ok && path.Base(f.Name) != "absent" {
			data = []byte("(there is no such file)\n")
		}
		f.Data = data
	}
}

// passedKinds reads a line such as: pass through: ConfigMap Service
func passedKinds(t *testing.T, comment string) passthrough.Kinds {
	t.Helper()
	for line := range strings.Lines(comment) {
		if names, found := strings.CutPrefix(strings.TrimSpace(line), "pass through: "); found {
			kinds, _, _, err := passthrough.Parse(strings.Fields(names))
			if err != nil {
				t.Fatal(err)
			}
			return kinds
		}
	}
	return ""
}

func scenarioOptions(t *testing.T, comment string) generator.Options {
	t.Helper()
	opts := generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Plaintext,
		OperatorLabels: map[string]string{}}
	program, version, clusters := "", "", false
	for line := range strings.Lines(comment) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "compatibility":
			opts.Compatibility = manifest.Compatibility(value)
		case "runtime":
			program = value
		case "runtimes allowed":
			opts.Runtimes.Allowed = strings.Split(value, ", ")
		case "runtime version":
			version = value
		case "sharding":
			if clusters = true; value != "clustering" {
				t.Fatal(value)
			}
		case "secrets":
			opts.Secrets = secretref.Policy(value)
		case "mirror": // settings as JSON
			opts.Mirror = &mirror.Settings{}
			if err := yaml.UnmarshalStrict([]byte(value), opts.Mirror); err != nil {
				t.Fatal(err)
			}
		case "rbac":
			opts.RenderRights = value == "render"
		case "self monitoring": // settings as JSON
			opts.SelfMonitoring = &selfmonitoring.Settings{}
			if err := yaml.UnmarshalStrict([]byte(value), opts.SelfMonitoring); err != nil {
				t.Fatal(err)
			}
		case "secret rule": // such as: reference names db-*
			f := strings.Fields(value)
			rule := secretref.Rule{Policy: secretref.Policy(f[0])}
			*map[string]*[]string{"namespaces": &rule.Namespaces, "names": &rule.Names,
				"types": &rule.Types}[f[1]] = f[2:]
			opts.SecretRules = append(opts.SecretRules, rule)
		case "restart on secret change":
			opts.RestartOnSecretChange = value == "true"
		case "operator label":
			k, v, _ := strings.Cut(value, "=")
			opts.OperatorLabels[k] = v
		case "agent selector":
			selector, err := labels.Parse(value)
			if err != nil {
				t.Fatal(err)
			}
			opts.AgentSelector = selector
		}
	}
	choice, err := generator.RuntimesAt(program, version, clusters)
	if err != nil || program != "" && choice.Default.Name != program {
		t.Fatal(program, err)
	}
	opts.Runtimes.Default, opts.Runtimes.Others = choice.Default, choice.Others
	return opts
}

// renderAll renders the results of several files; its diagnostics include theirs.
func renderAll(results []manifest.Result, opts generator.Options) *generator.Output {
	out := generator.Render(manifest.NewSet(results...), opts, nil)
	for _, r := range results {
		out.Diags = append(out.Diags, out.WithoutUnused(r.Diags)...)
	}
	out.Diags.Sort()
	return out
}
