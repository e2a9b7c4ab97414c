package generator_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

// corpusAndExamples renders all conformance cases and examples for a runtime, by name.
func corpusAndExamples(t *testing.T, r runtimes.Runtime) map[string]*generator.Output {
	t.Helper()
	all := map[string]*generator.Output{}
	for _, name := range []string{"quickstart", "platform"} {
		all[name] = example(t, name, generator.Options{Compatibility: manifest.Current, Secrets: secretref.Reference,
			Runtimes: runtimes.Choice{Default: r}})
	}
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, name := range cases {
		result := manifest.Parse(manifest.File{Path: "input.yaml", Data: read(t, name)}, manifest.Options{})
		all[filepath.Base(filepath.Dir(name))] = generator.Render(manifest.NewSet(result),
			generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Reference,
				Runtimes: runtimes.Choice{Default: r}}, nil)
	}
	return all
}

// holdText holds a text to what is in a folder of testdata.
func holdText(t *testing.T, folder, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", folder, name+".txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, golden)), got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

// explainable returns the ids of all objects of the inputs, sorted.
func explainable(x *explain.Explainer) (ids []manifest.ID) {
	for _, e := range x.Index().Search("", math.MaxInt).Entries {
		if e.File != "" { // else only its name is known
			ids = append(ids, e.ID())
		}
	}
	slices.SortFunc(ids, manifest.ID.Compare)
	return ids
}

// TestExplainedTexts holds explanations of all conformance cases and examples to what they were.
func TestExplainedTexts(t *testing.T) {
	for name, output := range corpusAndExamples(t, agentruntime.Runtime()) {
		w := explain.New(output.Explained())
		var b strings.Builder
		for _, id := range explainable(w) {
			e, ok := w.Explain(id)
			if !ok {
				t.Fatalf("%s is not there", id)
			}
			b.WriteString(e.Text() + "---\n")
		}
		holdText(t, "explain", name, b.String())
	}
}

// jobNames returns the names of the jobs in the rendered configurations, by unit and instance.
func jobNames(t *testing.T, out *generator.Output) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Object.Kind != "Secret" || !f.Manifest {
				continue
			}
			var config map[string]struct {
				Configs []struct {
					Name          string
					ScrapeConfigs []struct {
						JobName string `yaml:"job_name"`
					} `yaml:"scrape_configs"`
				}
			}
			if yamlv3.Unmarshal(workload.Configuration(f.Data), &config) != nil { // the agent's YAML: y is a text
				continue
			}
			for part, kind := range map[string]string{"metrics": "MetricsInstance", "logs": "LogsInstance"} {
				for _, c := range config[part].Configs {
					for _, j := range c.ScrapeConfigs {
						at := u.Name + " " + kind + "/" + c.Name
						found[at] = append(found[at], j.JobName)
					}
				}
			}
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// explainedJobs returns the same of what is explained of monitors and Secrets. It checks that each job is where it is
// said to be.
func explainedJobs(t *testing.T, out *generator.Output) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for _, u := range out.Units {
		for _, f := range u.Files {
			files[u.Name+"/"+f.Path] = strings.SplitAfter(string(f.Data), "\n")
		}
	}
	found := map[string][]string{}
	w := explain.New(out.Explained())
	for _, id := range explainable(w) {
		e, _ := w.Explain(id)
		if id.Kind == "MetricsInstance" || id.Kind == "LogsInstance" {
			continue // their jobs are those of the Secrets
		}
		for _, r := range e.Renders {
			for _, j := range r.Jobs {
				at := r.Unit + " " + r.Instance
				found[at] = append(found[at], j.Name)
				lines := files[j.File]
				if j.Line < 1 || j.Line > len(lines) ||
					!strings.Contains(strings.Join(lines[j.Line-1:min(len(lines), j.Line+3)], ""), j.Name) {
					t.Errorf("%s: job %s is not at %s:%d", id, j.Name, j.File, j.Line)
				}
			}
		}
		if (e.State == explain.NotSelected) != (len(e.SelectedBy) == 0 || allEnd(e.SelectedBy)) &&
			e.State != explain.LeftOut && id.Kind != "GrafanaAgent" && e.UsedBy == nil && e.State != explain.Unused {
			t.Errorf("%s is %s, and selected by %v", id, e.State, e.SelectedBy)
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

func allEnd(chains []explain.Chain) bool {
	return !slices.ContainsFunc(chains, func(c explain.Chain) bool { return !c.Ends })
}

// TestExplainedIsRendered holds that the jobs that are explained are those that are rendered.
func TestExplainedIsRendered(t *testing.T) {
	jobs := 0
	for seed := range int64(20 * seeds) {
		w := newFixture(seed)
		w.uniform = seed%2 == 1
		for range 40 {
			w.edit()
		}
		for _, policy := range policies() {
			out := generator.Render(manifest.NewSet(w.parse()...), generator.Options{Secrets: policy}, nil)
			want, got := jobNames(t, out), explainedJobs(t, out)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d (-rendered +explained):\n%s", seed, diff)
			}
			for _, names := range want {
				jobs += len(names)
			}
		}
	}
	if jobs < 50 {
		t.Errorf("only %d jobs were compared", jobs)
	}
}

// TestMissesBecomeSelections makes the changes that misses name, and holds that the selectors choose the objects then.
func TestMissesBecomeSelections(t *testing.T) {
	made := 0
	for seed := range int64(10 * seeds) {
		w := newFixture(seed)
		before := explain.New(generator.Render(manifest.NewSet(w.parse()...), generator.Options{}, nil).Explained())
		for _, id := range explainable(before) {
			e, _ := before.Explain(id)
			last := -1
			for _, m := range e.Misses {
				if len(m.Changes) == 0 {
					continue
				}
				if unset := m.Reasons[0] == m.Field.Path+" is not set: it selects nothing"; !unset {
					if len(m.Changes) < last {
						t.Errorf("seed %d: %s: a miss by %d changes is behind one by %d", seed, id, len(m.Changes),
							last)
					}
					last = len(m.Changes)
				}
				made++
				changed := explain.New(generator.Render(applied(t, w, m.Changes), generator.Options{}, nil).Explained())
				after, ok := changed.Explain(id)
				if !ok || !slices.ContainsFunc(after.SelectedBy, func(c explain.Chain) bool {
					s := c.Steps[len(c.Steps)-1]
					return s.By.ID() == m.By.ID() && s.Field.Path == m.Field.Path
				}) {
					t.Fatalf("seed %d: %s: %v do not make %s select it", seed, id, m.Changes, m.By.ID())
				}
			}
		}
	}
	if made < 100 {
		t.Errorf("only %d misses were tried", made)
	}
}

// applied returns the objects of a fixture with changes made to their manifests.
func applied(t *testing.T, w *fixture, changes []explain.Change) *manifest.Set {
	t.Helper()
	texts := maps.Clone(w.texts)
	for _, c := range changes {
		id := c.Object.Kind + "-" + c.Object.Namespace + "-" + c.Object.Name
		if c.Object.Kind == "Namespace" {
			id = "Namespace-" + c.Object.Name
		}
		text, ok := texts[id]
		if c.IsNew == ok {
			t.Fatalf("%v: %s is there: %t", c, id, ok)
		}
		if !ok {
			text = fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", c.Object.Name)
		}
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		edit(t, o, c)
		fresh, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		texts[id] = string(fresh)
	}
	var results []manifest.Result
	for id, text := range texts {
		results = append(results, manifest.Parse(manifest.File{Path: id + ".yaml", Data: []byte(text)},
			manifest.Options{}))
	}
	return manifest.NewSet(results...)
}

// edit makes a change in a manifest.
func edit(t *testing.T, o map[string]any, c explain.Change) {
	t.Helper()
	if c.Field == "" {
		meta := o["metadata"].(map[string]any)
		all, _ := meta["labels"].(map[string]any)
		if all == nil {
			all = map[string]any{}
			meta["labels"] = all
		}
		if all[c.Label] = c.Value; c.Remove {
			delete(all, c.Label)
		}
		return
	}
	at := o
	path := strings.Split(c.Field, ".")
	for _, field := range path[:len(path)-1] {
		at = at[field].(map[string]any)
	}
	text, err := json.Marshal(c.To)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	at[path[len(path)-1]] = value
}

// TestEqualRendersAreExplainedEqually renders a fixture twice, once in another order.
func TestEqualRendersAreExplainedEqually(t *testing.T) {
	for seed := range int64(seeds) {
		results := newFixture(seed).parse()
		text := func() string {
			w := explain.New(generator.Render(manifest.NewSet(results...), generator.Options{}, nil).Explained())
			var b strings.Builder
			for _, id := range explainable(w) {
				e, _ := w.Explain(id)
				b.WriteString(e.Text())
			}
			return b.String()
		}
		one := text()
		slices.Reverse(results)
		if diff := cmp.Diff(one, text()); diff != "" {
			t.Errorf("seed %d:\n%s", seed, diff)
		}
	}
}
