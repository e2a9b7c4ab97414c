package generator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// written is a last good version with the files that units were rendered to.
type written struct {
	lastGood
	files map[string][]byte
}

func (w written) Written(unit, path string) []byte { return w.files[unit+"/"+path] }

// TestImmutableFields changes what Kubernetes lets nobody change: the object that does so is held, also in a unit that
// is taken over from an earlier render, unless that is known to be what was written.
func TestImmutableFields(t *testing.T) {
	read := func(size string) *manifest.Set {
		text := fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
			"metadata: {name: a, namespace: m}\nspec:\n  metrics: {instanceSelector: {}}\n"+
			"  storage: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "+
			"resources: {requests: {storage: %s}}}}}\n"+
			"---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
			"metadata: {name: i, namespace: m}\n", size)
		r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
		if r.Diags.HasErrors() {
			t.Fatal(r.Diags)
		}
		return manifest.NewSet(r)
	}
	small, large := read("1Gi"), read("2Gi")
	before := generator.Render(small, generator.Options{}, nil)
	last := written{lastGood{}, map[string][]byte{}}
	last.note(before, small)
	for _, u := range before.Units {
		for _, f := range u.Files {
			last.files[u.Name+"/"+f.Path] = f.Data
		}
	}
	opts := generator.Options{LastGood: last}
	fresh := generator.Render(large, opts, nil)
	u := fresh.Units[0]
	if u.Failed || len(u.Held) != 1 || u.Held[0].Kind != "GrafanaAgent" ||
		u.Held[0].Reason.Code != diag.ImmutableField {
		t.Fatalf("failed %v, held %v", u.Failed, u.Held)
	}
	if diff := cmp.Diff(payload(before), payload(fresh)); diff != "" {
		t.Errorf("what is held is rendered (-before +now):\n%s", diff)
	}
	earlier := generator.Render(large, generator.Options{}, nil) // knows nothing of what was written
	if diff := cmp.Diff(summary(fresh), summary(generator.Render(large, opts, earlier))); diff != "" {
		t.Errorf("it is taken over (-fresh +incremental):\n%s", diff)
	}
	opts.Current = map[*generator.Unit]bool{earlier.Units[0]: true}
	if out := generator.Render(large, opts, earlier); out.Units[0] != earlier.Units[0] {
		t.Errorf("what is known to be written is compared: %v", out.Diags)
	}
	if cmp.Equal(payload(fresh), payload(fresh.WithoutBytes(all))) {
		t.Error("no bytes were dropped")
	}
	if diff := cmp.Diff(summary(fresh), summary(fresh.WithoutBytes(all))); diff != "" {
		t.Errorf("files of a unit that holds an object are not what they were (-before +again):\n%s", diff)
	}
}

// all is for [generator.Output.WithoutBytes].
func all(*generator.Unit) bool { return true }
