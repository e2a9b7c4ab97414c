package generator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// choosing returns a file for each object: two GrafanaAgents that run one MetricsInstance, the first of which has
// annotations.
func choosing(annotations string) []manifest.File {
	agent := func(name, annotations string) manifest.File {
		return manifest.File{Path: name + ".yaml", Data: fmt.Appendf(nil,
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
				"metadata: {name: %s, namespace: m, annotations: {%s}}\n"+
				"spec: {metrics: {instanceSelector: {}, shards: 2}}\n", name, annotations)}
	}
	return []manifest.File{agent("chooses", annotations), agent("other", ""),
		{Path: "i.yaml", Data: []byte("apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
			"metadata: {name: i, namespace: m}\n" +
			"spec: {podMonitorSelector: {}, remoteWrite: [{url: \"https://mimir.example.com/push\"}]}\n")},
		{Path: "p.yaml", Data: []byte("apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n" +
			"metadata: {name: p, namespace: m}\nspec: {selector: {}, podMetricsEndpoints: [{port: web}]}\n")},
	}
}

const choosesAlloy = runtimes.Annotation + ": alloy"

// TestAChoiceIsRenderedAnew changes the annotation of a GrafanaAgent: a render that takes over units is the same as a
// fresh one, and takes over the unit of the other GrafanaAgent.
func TestAChoiceIsRenderedAnew(t *testing.T) {
	for _, allowed := range [][]string{nil, {"agent"}} {
		options := generator.Options{Runtimes: runtimes.Choice{Allowed: allowed}}
		results := map[string]manifest.Result{}
		render := func(annotations string, prev *generator.Output) *generator.Output {
			var all []manifest.Result
			for _, f := range choosing(annotations) { // a file that stays has the same objects
				if _, known := results[string(f.Data)]; !known {
					results[string(f.Data)] = manifest.Parse(f, manifest.Options{})
				}
				all = append(all, results[string(f.Data)])
			}
			return generator.Render(manifest.NewSet(all...), options, prev)
		}
		var last *generator.Output
		for _, annotations := range []string{"", choosesAlloy, runtimes.Annotation + ": agent", choosesAlloy, "",
			runtimes.Annotation + ": aloy", choosesAlloy} {
			out, fresh := render(annotations, last), render(annotations, nil)
			if diff := cmp.Diff(summary(fresh), summary(out)); diff != "" {
				t.Errorf("%v, %q (-fresh +taken over):\n%s", allowed, annotations, diff)
			}
			if got, want := out.Units[0].Runtime, fresh.Units[0].Runtime; got != want {
				t.Errorf("%v, %q: runs %s, and %s if rendered anew", allowed, annotations, got, want)
			}
			if last != nil && out.Units[1] != last.Units[1] {
				t.Errorf("%v, %q: the other unit is rendered anew", allowed, annotations)
			}
			last = out
		}
	}
}

// TestAChoiceIsTheRuntimeOfTheUnit: a GrafanaAgent that chooses a program is rendered as if the program were the
// default, but for its annotation.
func TestAChoiceIsTheRuntimeOfTheUnit(t *testing.T) {
	render := func(annotations string, choice runtimes.Choice) *generator.Output {
		var all []manifest.Result
		for _, f := range choosing(annotations) {
			all = append(all, manifest.Parse(f, manifest.Options{}))
		}
		return generator.Render(manifest.NewSet(all...), generator.Options{Runtimes: choice}, nil)
	}
	clustered, err := generator.RuntimesAt("alloy", "v1.16.2", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(generator.Runtimes(), clustered.Default) {
		for _, other := range generator.Runtimes() {
			if r.Name == other.Name {
				continue
			}
			chosen := render(runtimes.Annotation+": "+r.Name,
				runtimes.Choice{Default: other, Others: []runtimes.Runtime{r}})
			same := render("", runtimes.Choice{Default: r})
			d := generator.Compare(same.Units[:1], chosen.Units[:1])
			for _, o := range d.Objects {
				for _, c := range o.Changes {
					if c.Path.String() != "metadata.annotations."+runtimes.Annotation {
						t.Errorf("%s chosen in place of %s: %s: %s", r.Name, other.Name, o.ID, c.Path)
					}
				}
			}
			if len(d.Objects) == 0 || chosen.Units[0].Runtime != r.Name || chosen.Units[1].Runtime != other.Name {
				t.Errorf("%s chosen in place of %s: %d objects differ, the units run %s and %s", r.Name, other.Name,
					len(d.Objects), chosen.Units[0].Runtime, chosen.Units[1].Runtime)
			}
		}
	}
}

// TestTestsOfTargetsAreForTheAgent: under [generator.OnlyAgent] choices have no effect, and are not checked.
func TestTestsOfTargetsAreForTheAgent(t *testing.T) {
	for _, annotations := range []string{choosesAlloy, runtimes.Annotation + ": aloy"} {
		var all []manifest.Result
		for _, f := range choosing(annotations) {
			all = append(all, manifest.Parse(f, manifest.Options{}))
		}
		out := generator.Render(manifest.NewSet(all...), generator.Options{Runtimes: generator.OnlyAgent()}, nil)
		if out.Diags.HasErrors() || out.Units[0].Runtime != "agent" || out.Units[0].Failed {
			t.Errorf("%s: runs %s: %v", annotations, out.Units[0].Runtime, out.Diags)
		}
	}
}
