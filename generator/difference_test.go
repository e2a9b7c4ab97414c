package generator_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/manifest"
	agentruntime "github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/generator/workload"
)

// TestDifferenceIsComplete edits fixtures at random, and makes the changes that the difference names to what was
// rendered before: that is what is rendered after. No secret is in the difference.
func TestDifferenceIsComplete(t *testing.T) {
	for seed := range int64(seeds) {
		for _, policy := range policies() {
			w := newFixture(seed)
			before := renderAll(w.parse(), generator.Options{Secrets: policy})
			values := secretValues(w.parse())
			for range 8 {
				edit := w.edit()
				after := renderAll(w.parse(), generator.Options{Secrets: policy})
				values = append(values, secretValues(w.parse())...)
				name := fmt.Sprintf("seed %d, %s, %s", seed, policy, edit)
				holdComplete(t, name, difference.Match(manifests(before), manifests(after)), values)
				if t.Failed() {
					return
				}
				before = after
			}
		}
	}
}

// TestDifferenceOfUnlikeCases compares what every conformance case renders with what the next one does, as if an object
// of one had become an object of the other.
func TestDifferenceOfUnlikeCases(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(cases) < 2 {
		t.Fatal(cases, err)
	}
	last := map[string][]difference.Manifest{}
	for _, name := range sample(cases) {
		input, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		results := filed([][]byte{input}, 1)
		kinds := map[string][]difference.Manifest{}
		out := renderAll(results, generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Plaintext})
		for _, m := range manifests(out) {
			kinds[m.ID.Kind] = append(kinds[m.ID.Kind], m)
		}
		for kind, now := range kinds {
			var pairs []difference.Pair
			for i, m := range last[kind] {
				other := now[i%len(now)]
				pairs = append(pairs, difference.Pair{Unit: m.Unit, ID: m.ID, Before: m.Version, After: other.Version})
			}
			holdComplete(t, filepath.Base(filepath.Dir(name))+" "+kind, pairs, secretValues(results))
			last[kind] = now
		}
	}
}

// TestDifferencesFromTheAgentToAlloy holds what diff says of the way from the agent to Alloy to what it was, for all
// conformance cases and examples.
func TestDifferencesFromTheAgentToAlloy(t *testing.T) {
	after := corpusAndExamples(t, alloy.Runtime())
	for name, before := range corpusAndExamples(t, agentruntime.Runtime()) {
		d := difference.Compare(difference.Match(manifests(before), manifests(after[name])))
		holdText(t, "difference", name, d.Text())
	}
}

// TestDifferenceOfALargeConfiguration makes edits in a configuration that is too large to be parsed as a whole.
func TestDifferenceOfALargeConfiguration(t *testing.T) {
	agent, monitors := fleet(120)
	render := func(files []manifest.File) []difference.Manifest {
		return manifests(generator.Render(loadAll(append([]manifest.File{agent}, files...)), generator.Options{}, nil))
	}
	edited := slices.Clone(monitors)
	edited[50].Data = []byte(strings.Replace(string(edited[50].Data), "interval: 30s", "interval: 31s", 1))
	if string(edited[50].Data) == string(monitors[50].Data) {
		t.Fatal("nothing was edited")
	}
	for name, files := range map[string][]manifest.File{
		"edited": edited, "removed": slices.Delete(slices.Clone(monitors), 20, 30), "fewer": monitors[:1],
	} {
		holdComplete(t, name, difference.Match(render(monitors), render(files)), nil)
		holdComplete(t, name+", back", difference.Match(render(files), render(monitors)), nil)
	}
}

func manifests(out *generator.Output) (all []difference.Manifest) {
	for _, u := range out.Units {
		for _, f := range u.Files {
			if f.Manifest && f.Object.Kind != "" {
				all = append(all, difference.Manifest{Unit: u.Name, ID: f.Object, Version: f.Version(),
					Masked: f.Masked})
			}
		}
	}
	return all
}

func holdComplete(t *testing.T, name string, pairs []difference.Pair, secrets []string) {
	t.Helper()
	d := difference.Compare(pairs)
	texts, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range secrets {
		if !strings.ContainsAny(v, "0123456789$") {
			continue // a word that may be a name too
		}
		if strings.Contains(string(texts), v) || strings.Contains(d.Text(), v) {
			t.Errorf("%s: the difference shows the secret %q:\n%s", name, v, d.Text())
		}
	}
	changed := map[manifest.ID][]difference.Change{}
	for _, o := range d.Objects {
		changed[o.ID] = o.Changes
	}
	for _, p := range pairs {
		got, want := apply(meaning(t, p.Before), changed[p.ID], 0), meaning(t, p.After)
		if isRemoved(got) {
			got = nil
		}
		if !fits(got, want) {
			t.Errorf("%s: %s with the changes is not what is rendered:\n%s\ngot  %v\nwant %v", name, p.ID, d.Text(),
				got, want)
		}
	}
	// The same values in another spelling are not a difference. Of what is spelled anew only the text is known.
	for i := range pairs {
		pairs[i].Before, pairs[i].After = textOf(pairs[i].After),
			difference.Version{Text: respelled(t, pairs[i].After.Text)}
	}
	if d := difference.Compare(pairs); !d.IsEmpty() {
		t.Errorf("%s: another spelling is a difference:\n%s", name, d.Text())
	}
}

// textOf is a version of which only the text is known.
func textOf(v difference.Version) difference.Version { return difference.Version{Text: v.Text} }

// meaning decodes a version; a configuration is a field of its Secret.
func meaning(t *testing.T, v difference.Version) any {
	t.Helper()
	if v.Text == nil {
		return nil
	}
	var out map[string]any
	if err := yaml.Unmarshal(v.Text, &out); err != nil {
		t.Fatal(err)
	}
	config := workload.Configuration(v.Text)
	var inner any
	key := "agent.yml"
	switch {
	case config == nil:
		return out
	case v.Values != nil:
		key = v.ConfigKey
		inner = expanded(v.Values())
	case strings.Contains(string(v.Text), "\n  agent.yml: "):
		if err := yaml.Unmarshal(config, &inner); err != nil {
			t.Fatal(err)
		}
	case strings.Contains(string(v.Text), "\n  config.alloy: "):
		components, err := alloyconfig.Components(string(config)) // its own tests hold it to what is printed
		if err != nil {
			t.Fatal(err)
		}
		key, inner = "config.alloy", map[string]any{"components": components}
	default:
		return out
	}
	out[key] = inner
	delete(out, "stringData")
	delete(out, "data")
	return out
}

// expanded is a configuration in which all jobs are made.
func expanded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = expanded(inner)
		}
	case []any:
		for i, item := range v {
			v[i] = expanded(item)
		}
	case *agentruntime.Job:
		return expanded(v.Fields())
	}
	return v
}

// respelled is a manifest as another printer writes it.
func respelled(t *testing.T, text []byte) []byte {
	t.Helper()
	if text == nil {
		return nil
	}
	out := meaning(t, difference.Version{Text: text}).(map[string]any)
	if _, found := out["config.alloy"]; found {
		delete(out, "config.alloy")
		out["stringData"] = map[string]any{"config.alloy": "// spaces\n" +
			strings.ReplaceAll(string(workload.Configuration(text)), " = ", "  =  ")}
	}
	if config, found := out["agent.yml"]; found {
		inner, err := yaml.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		delete(out, "agent.yml")
		out["stringData"] = map[string]any{"agent.yml": string(inner)}
	}
	again, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// fits compares a value with what was rendered. A hidden value fits any text.
func fits(got, want any) bool {
	switch got := got.(type) {
	case difference.Hidden:
		_, isText := want.(string)
		return isText
	case map[string]any:
		other, isMap := want.(map[string]any)
		for k, v := range got {
			if !isMap || !fits(v, other[k]) {
				return false
			}
		}
		return len(got) == len(other)
	case []any:
		other, isList := want.([]any)
		return isList && slices.EqualFunc(got, other, fits)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	return string(a) == string(b) || reflect.DeepEqual(got, want)
}

// gone stands for a value that was removed.
type gone struct{}

func isRemoved(v any) bool {
	_, is := v.(gone)
	return is
}

// apply makes changes to a value. The first steps of their paths lead to it.
func apply(v any, changes []difference.Change, depth int) any {
	order := []string(nil)
	steps := map[string][]difference.Change{}
	for _, c := range changes {
		switch {
		case len(c.Path) == depth && c.Op == difference.Reordered:
			for _, name := range c.After.Any().([]any) {
				order = append(order, name.(string))
			}
		case len(c.Path) == depth && c.After == nil:
			return gone{}
		case len(c.Path) == depth:
			return c.After.Any()
		default:
			key := fmt.Sprintf("%#v", c.Path[depth])
			steps[key] = append(steps[key], c)
		}
	}
	if list, ok := v.([]any); ok {
		return applyList(list, steps, order, depth)
	}
	out := map[string]any{}
	if m, ok := v.(map[string]any); ok {
		for k, v := range m {
			out[k] = v
		}
	} else if len(steps) == 0 {
		return v
	}
	for _, changes := range steps {
		name := changes[0].Path[depth].Field
		if out[name] = apply(out[name], changes, depth+1); isRemoved(out[name]) {
			delete(out, name)
		}
	}
	return out
}

func applyList(list []any, steps map[string][]difference.Change, order []string, depth int) any {
	out := slices.Clone(list)
	var added []difference.Change
	by := ""
	for _, changes := range steps {
		step := changes[0].Path[depth]
		if by = max(by, step.Field); step.Old < 0 {
			added = append(added, changes...)
			continue
		}
		out[step.Old] = apply(out[step.Old], changes, depth+1)
	}
	out = slices.DeleteFunc(out, isRemoved)
	slices.SortFunc(added, func(a, b difference.Change) int { return a.Path[depth].New - b.Path[depth].New })
	for _, c := range added {
		if at := c.Path[depth].New; order == nil {
			out = slices.Insert(out, at, c.After.Any())
		} else {
			out = append(out, c.After.Any())
		}
	}
	if order != nil {
		place := func(v any) int {
			for _, by := range []string{"job_name", "name", "mountPath", "url", "instance", "integration",
				"component"} {
				if i := slices.Index(order, fmt.Sprint(v.(map[string]any)[by])); i >= 0 {
					return i
				}
			}
			return -1
		}
		slices.SortFunc(out, func(a, b any) int { return place(a) - place(b) })
	}
	return out
}

// TestDifferenceOfEncryptedValues: that they change is all that is known of them, and pods read their configuration
// again.
func TestDifferenceOfEncryptedValues(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: agent, namespace: a}\n" +
		"spec: {template: {spec: {volumes: [{name: config, secret: {secretName: agent-config}}]}}}\n"
	secret := func(label string) []byte {
		return []byte("apiVersion: v1\nkind: Secret\nmetadata:\n  labels: {a: " + label +
			"}\n  name: agent-config\n  namespace: a\nstringData:\n  agent.yml: <encrypted>\n")
	}
	id := manifest.ID{Kind: "Secret", Namespace: "a", Name: "agent-config"}
	text := func(manifest []byte) difference.Version { return difference.Version{Text: manifest} }
	others := difference.Pair{Unit: "a/agent", ID: manifest.ID{Kind: "StatefulSet", Namespace: "a", Name: "agent"},
		Before: text([]byte(pod)), After: text([]byte(pod))}
	for _, c := range []struct {
		pair difference.Pair
		want string
	}{
		{difference.Pair{Before: text(secret("b")), After: text(secret("b")), IsEncrypted: true},
			"1 object changed\n\npods reload their configuration, without a restart\n  StatefulSet a/agent\n\n" +
				"~ Secret a/agent-config\n  ~ encrypted values\n"},
		{difference.Pair{Before: text(secret("b")), After: text(secret("c")), IsEncrypted: true, OnlySecrets: true},
			"1 object changed\n\npods keep the old secrets until they restart, because only secrets change " +
				"in their configuration\n  StatefulSet a/agent\n\n~ Secret a/agent-config\n" +
				"  ~ metadata.labels.a: b → c\n  ~ encrypted values\n"},
		{difference.Pair{Before: text(secret("b")), After: text(secret("b"))}, "no difference\n"},
	} {
		c.pair.Unit, c.pair.ID = "a/agent", id
		d := difference.Compare([]difference.Pair{c.pair, others})
		if got := d.Text(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
	}
}

// TestAShortDifferenceHasTheSameText: what is left out of it is only counted.
func TestAShortDifferenceHasTheSameText(t *testing.T) {
	t.Parallel()
	for _, program := range generator.Runtimes() {
		edited := editedPairs(20, program)
		var added, removed []difference.Pair
		for _, p := range edited {
			added = append(added, difference.Pair{Unit: "b/new", ID: p.ID, After: p.After})
			removed = append(removed, difference.Pair{Unit: "c/old", ID: p.ID, Before: p.Before})
		}
		for _, units := range [][][]difference.Pair{{added}, {edited, added}, {edited, added, removed}} {
			whole := difference.Compare(slices.Concat(units...))
			short := difference.Join(func(yield func(*difference.Difference) bool) {
				for _, pairs := range units {
					if !yield(difference.Brief(pairs)) {
						return
					}
				}
			})
			if diff := cmp.Diff(whole.Brief(100), short.Brief(100)); diff != "" {
				t.Errorf("%s, %d units: %s", program.Name, len(units), diff)
			}
			if len(short.Consequences) >= len(whole.Consequences) {
				t.Errorf("%s: %d of %d consequences", program.Name, len(short.Consequences), len(whole.Consequences))
			}
		}
	}
}
