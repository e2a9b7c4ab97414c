package generator_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// zipped is a file in less memory.
type zipped []byte

func zip(data []byte) generator.Stored {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return zipped(out.Bytes())
}

// Bytes implements [generator.Stored].
func (z zipped) Bytes() []byte {
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		panic(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return out
}

// Len implements [generator.Stored].
func (z zipped) Len() int { return len(z) }

// TestLeanUnitsAreTheSame: units that keep only stored bytes have the same files, mean the same in a comparison, and
// can be taken over.
func TestLeanUnitsAreTheSame(t *testing.T) {
	t.Parallel()
	for seed := range int64(seeds) {
		w := newFixture(seed)
		for range 20 {
			w.edit()
		}
		set := manifest.NewSet(w.parse()...)
		for _, runtime := range generator.Runtimes() {
			opts := generator.Options{}
			opts.Runtimes.Default = runtime
			whole := generator.Render(set, opts, nil)
			opts.KeepBytes, opts.Store = 1, zip
			lean := generator.Render(set, opts, nil)
			again := generator.Render(set, opts, lean)
			stripped := lean.WithoutBytes(func(*generator.Unit) bool { return true })
			if diff := cmp.Diff(summary(whole), summary(stripped)); diff != "" {
				t.Errorf("seed %d, %s: without bytes (-whole +lean):\n%s", seed, runtime.Name, diff)
			}
			for i, u := range whole.Units {
				for _, other := range []*generator.Output{lean, again} {
					o := other.Units[i]
					if len(o.Files) != len(u.Files) {
						t.Fatalf("seed %d, %s: %s has %d files, want %d", seed, runtime.Name, u.Name, len(o.Files),
							len(u.Files))
					}
					for n := range u.Files {
						if !bytes.Equal(o.Files[n].Text(), u.Files[n].Data) {
							t.Errorf("seed %d, %s: %s/%s differs", seed, runtime.Name, u.Name, u.Files[n].Path)
						}
					}
				}
				if got, want := meaningOf(lean, i), meaningOf(whole, i); got != want {
					t.Errorf("seed %d, %s: the difference is\n%s\nwant\n%s", seed, runtime.Name, got, want)
				}
			}
		}
	}
}

// meaningOf is what it means that a unit is added.
func meaningOf(out *generator.Output, unit int) string {
	u := out.Units[unit]
	var pairs []difference.Pair
	for i := range u.Files {
		if f := &u.Files[i]; f.Manifest && f.Object.Kind != "" {
			pairs = append(pairs, difference.Pair{Unit: u.Name, ID: f.Object, After: out.Version(u, f)})
		}
	}
	return difference.Compare(pairs).Text()
}

// TestStoredUnitsCount: what is stored counts for the budget, and nothing more is rendered once that is exceeded.
func TestStoredUnitsCount(t *testing.T) {
	t.Parallel()
	var list []manifest.Result
	for i := range 20 {
		text := fmt.Sprintf("apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\n"+
			"metadata: {name: a, namespace: n%[1]d}\nspec: {metrics: {instanceSelector: {}}}\n---\n"+
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n"+
			"metadata: {name: i, namespace: n%[1]d}\nspec: {remoteWrite: [{url: https://x.example.com/push}]}\n", i)
		file := manifest.File{Path: fmt.Sprintf("%d.yaml", i), Data: []byte(text)}
		list = append(list, manifest.Parse(file, manifest.Options{}))
	}
	var asked atomic.Int64
	refused := errors.New("too much")
	out := generator.Render(manifest.NewSet(list...), generator.Options{KeepBytes: 1, Store: zip,
		Admit: func(n int64) error {
			if n == 0 {
				return nil
			}
			if asked.Add(1) > 3 { // the estimate, and two units
				return refused
			}
			return nil
		}}, nil)
	if !errors.Is(out.Refused, refused) {
		t.Errorf("it is refused with %v", out.Refused)
	}
}
