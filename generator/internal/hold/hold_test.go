package hold

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// The objects of the tests.
const (
	agent    = "GrafanaAgent a"
	instance = "MetricsInstance i"
	monitor  = "ServiceMonitor one"
	other    = "ServiceMonitor two"
	secret   = "Secret s"
)

// read makes a set of objects; their annotation "is" tells what is wrong with them, see [render].
func read(t *testing.T, objects map[string]string) *manifest.Set {
	t.Helper()
	var b strings.Builder
	for _, kindName := range slices.Sorted(maps.Keys(objects)) {
		is := objects[kindName]
		kind, name, _ := strings.Cut(kindName, " ")
		version, spec := "monitoring.grafana.com/v1alpha1", "spec: {metrics: {instanceSelector: {}}}"
		switch kind {
		case "MetricsInstance":
			spec = "spec: {serviceMonitorSelector: {}}"
		case "ServiceMonitor":
			version, spec = "monitoring.coreos.com/v1", "spec: {selector: {}, endpoints: []}"
		case "Secret":
			version, spec = "v1", "stringData: {k: v}"
		}
		fmt.Fprintf(&b, "---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: m, annotations: {is: %q}}\n%s\n", version, kind, name, is, spec)
	}
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(b.String())}, manifest.Options{})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	return manifest.NewSet(r)
}

// render is a runtime of the test's own: its result names each object and what it is. An object
// that is "wrong" has an error, a "reader" is wrong if the Secret is, and one that is "wrong
// under X" if an object above it is X.
func render(h *hierarchy.Hierarchy, set *manifest.Set, leftOut map[manifest.ID]bool) Attempt[[]string] {
	out := Attempt[[]string]{Diags: h.Diags, Dependencies: map[manifest.ID]*manifest.Object{}}
	var above []string
	h.Objects(func(o *manifest.Object) bool {
		if leftOut[o.ID] {
			return true
		}
		is := o.Annotations["is"]
		out.Result = append(out.Result, o.Kind+" "+o.Name+": "+is)
		under, ok := strings.CutPrefix(is, "wrong under ")
		switch {
		case is == "wrong", ok && slices.Contains(above, under):
			out.Diags = append(out.Diags, o.Place(diag.InvalidObject.At("", "is wrong")))
		case is == "reader", is == "late reader":
			s := set.Get(manifest.ID{Kind: "Secret", Namespace: "m", Name: "s"})
			out.Dependencies[s.ID] = s
			if s.Annotations["is"] == "wrong" {
				d := o.Place(diag.InvalidObject.At("", "reads a wrong Secret"))
				d.Related = []diag.Object{s.Ref()}
				out.Diags = append(out.Diags, d)
			}
		}
		if o.Kind != "ServiceMonitor" {
			above = append(above, is)
		}
		return true
	})
	return out
}

func TestAWrongObjectHarmsNothingButItself(t *testing.T) {
	good := map[string]string{agent: "good", instance: "good", monitor: "good", other: "reader", secret: "good"}
	for name, c := range map[string]struct {
		before, now map[string]string // what differs from good; "-" is an object that is not there
		lost        string            // an object whose last text is lost
		want        string
	}{
		"all is good: nobody asks for history": {
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: good, ServiceMonitor two: reader",
		},
		"a changed object is replaced by its last good version": {
			now: map[string]string{monitor: "wrong"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: good, ServiceMonitor two: " +
				"reader; held ServiceMonitor/m/one; error ServiceMonitor/m/one: is wrong",
		},
		"a new object is left out": {
			before: map[string]string{monitor: "-"}, now: map[string]string{monitor: "wrong"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor two: reader; left out " +
				"ServiceMonitor/m/one; error ServiceMonitor/m/one: is wrong",
		},
		"a changed Secret is held, and not who reads it": {
			now: map[string]string{secret: "wrong"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: good, ServiceMonitor two: " +
				"reader; held Secret/m/s; error Secret/m/s: because of it, ServiceMonitor/m/two (in.yaml:22:1) is " +
				"wrong: reads a wrong Secret",
		},
		"of a Secret and its reader that changed at once, the Secret is held if that helps": {
			now: map[string]string{secret: "wrong", other: "late reader"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: good, ServiceMonitor two: late " +
				"reader; held Secret/m/s; error Secret/m/s: because of it, ServiceMonitor/m/two (in.yaml:22:1) is " +
				"wrong: reads a wrong Secret",
		},
		"when an object did not change, the instance above it did": {
			before: map[string]string{monitor: "wrong under odd"},
			now:    map[string]string{monitor: "wrong under odd", instance: "odd"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: wrong under odd, " +
				"ServiceMonitor two: reader; held MetricsInstance/m/i; error ServiceMonitor/m/one: is wrong",
		},
		"and if not the instance, the GrafanaAgent": {
			before: map[string]string{monitor: "wrong under odd"},
			now:    map[string]string{monitor: "wrong under odd", agent: "odd"},
			want: "GrafanaAgent a: good, MetricsInstance i: good, ServiceMonitor one: wrong under odd, " +
				"ServiceMonitor two: reader; held GrafanaAgent/m/a; error ServiceMonitor/m/one: is wrong",
		},
		"nothing changed, so nothing can be replaced": {
			before: map[string]string{monitor: "wrong"}, now: map[string]string{monitor: "wrong"},
			want: "failed; error ServiceMonitor/m/one: is wrong",
		},
		"an object whose last text is lost must not vanish": {
			now: map[string]string{monitor: "wrong"}, lost: "one",
			want: "failed; error ServiceMonitor/m/one: is wrong",
		},
		"without its GrafanaAgent there is no unit": {
			before: map[string]string{agent: "-"}, now: map[string]string{agent: "wrong"},
			want: "failed; error GrafanaAgent/m/a: is wrong",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := read(t, edited(good, c.before)), read(t, edited(good, c.now))
			asked := false
			out := Run(Input[[]string]{
				Hierarchy: hierarchy.Build(now, nil)[0], Set: now, Render: render,
				LastGood: func(id manifest.ID) (*manifest.Object, bool) {
					asked = true
					o := before.Get(id)
					if had := o != nil; id.Name == c.lost {
						return nil, had
					}
					return o, o != nil
				},
			})
			if diff := cmp.Diff(c.want, summary(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if asked != out.UsedLastGood {
				t.Errorf("asked for last good versions: %v, told: %v", asked, out.UsedLastGood)
			}
		})
	}
}

// TestAnErrorInTheResultIsIsolatedToo is for what can only be found in the result of a good attempt.
func TestAnErrorInTheResultIsIsolatedToo(t *testing.T) {
	set := read(t, map[string]string{agent: "good", instance: "good", monitor: "good"})
	in := Input[[]string]{Hierarchy: hierarchy.Build(set, nil)[0], Set: set, Render: func(h *hierarchy.Hierarchy,
		set *manifest.Set, leftOut map[manifest.ID]bool) Attempt[[]string] {
		out := render(h, set, leftOut)
		if slices.Contains(out.Result, monitor+": good") {
			late := diag.InvalidObject.At("", "is too late")
			out.Diags = append(out.Diags, set.Kind("ServiceMonitor")[0].Place(late))
		}
		return out
	}}
	want := "GrafanaAgent a: good, MetricsInstance i: good; left out ServiceMonitor/m/one; error " +
		"ServiceMonitor/m/one: is too late"
	if diff := cmp.Diff(want, summary(Run(in))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func edited(objects, edits map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{objects, edits} {
		for object, is := range m {
			if out[object] = is; is == "-" {
				delete(out, object)
			}
		}
	}
	return out
}

func summary(out Outcome[[]string]) string {
	parts := []string{strings.Join(out.Result, ", ")}
	if out.Failed {
		parts = []string{"failed"}
	}
	for _, h := range out.Held {
		what := "held "
		if h.StandIn == nil {
			what = "left out "
		}
		parts = append(parts, what+h.ID.String())
	}
	for _, d := range out.Diags {
		if d.Severity == diag.Error {
			parts = append(parts, fmt.Sprintf("error %s: %s", d.Object, d.Problem()))
		}
	}
	return strings.Join(parts, "; ")
}
