package generator_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/ignore"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// seeds make the random fixtures; a failure prints its own.
const seeds = 3

// share is how many of n random fixtures, or of a long list of cases, are tried: all of them in make race, a fifth in a
// short test.
func share(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// sample returns the share of a list, from all parts of it.
func sample[T any](all []T) []T {
	some := make([]T, share(len(all)))
	for i := range some {
		some[i] = all[i*len(all)/len(some)]
	}
	return some
}

func policies() []secretref.Policy {
	return []secretref.Policy{secretref.Plaintext, secretref.Reference}
}

// runtimeOf returns the runtime for a random fixture.
func runtimeOf(seed int64) runtimes.Runtime {
	all := generator.Runtimes()
	return all[int(seed)%len(all)]
}

// TestIncrementalIsNeverStale edits fixtures at random: a render that takes over units of the
// one before must equal a render from nothing.
func TestIncrementalIsNeverStale(t *testing.T) {
	for seed := range int64(2 * seeds) {
		for _, policy := range policies() {
			t.Run(fmt.Sprintf("seed %d, %s", seed, policy), func(t *testing.T) {
				w := newFixture(seed)
				w.uniform = seed%2 == 1
				opts := generator.Options{Secrets: policy, Runtimes: runtimes.Choice{Default: runtimeOf(seed / 2)}}
				if seed%3 == 0 {
					opts.Changes = changesIn(t, fixtureChanges)
				}
				if seed%3 == 1 {
					var err error
					if opts.AgentSelector, err = labels.Parse("!other"); err != nil {
						t.Fatal(err)
					}
					opts.Ignore = ignore.Rules{{Reason: "why",
						Paths: []string{"ServiceMonitor-one-a.yaml", "PodLogs-two-b.yaml"}}}
				}
				var prev *generator.Output
				var set *manifest.Set
				reused, replaced, unselected := 0, 0, 0
				for step := range 40 {
					edit := w.edit()
					var same bool
					if set, same = next(set, manifest.NewSet(w.parse()...)); same {
						replaced++
					}
					out := generator.Render(set, opts, prev)
					for _, u := range out.Units {
						if prev != nil && contains(prev.Units, u) {
							reused++
						}
					}
					for _, d := range out.Diags {
						if d.Code == diag.Unselected {
							unselected++
						}
					}
					fresh := generator.Render(set, opts, nil)
					if diff := cmp.Diff(summary(fresh), summary(out)); diff != "" {
						t.Fatalf("step %d (%s): stale (-fresh +incremental):\n%s", step, edit, diff)
					}
					prev, opts.Current = out, map[*generator.Unit]bool{}
					if step%2 == 0 {
						prev = out.WithoutBytes(all)
						for _, u := range prev.Units {
							opts.Current[u] = step%4 == 0 // the others are rendered again
						}
					}
				}
				if reused == 0 || replaced == 0 || unselected == 0 {
					t.Errorf("%d units were ever taken over, and %d sets; %d findings about what nothing selects", reused,
						replaced, unselected)
				}
			})
		}
	}
}

// TestConflictsComeAndGo lets a unit grow into the name of another, and shrink again.
func TestConflictsComeAndGo(t *testing.T) {
	agent := func(name string, shards int) manifest.Result {
		text := fmt.Sprintf(
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: %s, namespace: one}\n"+
				"spec: {metrics: {shards: %d, instanceSelector: {}}}\n", name, shards)
		return manifest.Parse(manifest.File{Path: name + ".yaml", Data: []byte(text)}, manifest.Options{})
	}
	instance := manifest.Parse(manifest.File{Path: "main.yaml",
		Data: []byte("apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
			"metadata: {name: main, namespace: one}\nspec: {remoteWrite: [{url: https://x.example.com/push}]}\n")},
		manifest.Options{})
	set := manifest.NewSet(instance, agent("web", 1), agent("web-shard-1", 1))
	out := generator.Render(set, generator.Options{}, nil)
	for step, shards := range []int{1, 2, 2, 1, 2} {
		var same bool
		if set, same = set.Replace(agent("web", shards).Objects); !same {
			t.Fatal("another set")
		}
		out = generator.Render(set, generator.Options{}, out)
		if conflict := out.Diags.HasErrors(); conflict != (shards == 2) {
			t.Errorf("step %d, %d shards: %v", step, shards, out.Diags)
		}
	}
}

// next derives a set from the one before as gitsync does it: by [manifest.Set.Replace] where
// there are the same objects still.
func next(before, fresh *manifest.Set) (set *manifest.Set, same bool) {
	if before == nil || len(before.All()) != len(fresh.All()) || len(fresh.Duplicates()) > 0 {
		return fresh, false
	}
	var changed []*manifest.Object
	for i, o := range fresh.All() {
		old := before.All()[i]
		if old.ID != o.ID {
			return fresh, false
		}
		if old != o {
			changed = append(changed, o)
		}
	}
	return before.Replace(changed)
}

func contains(units []*generator.Unit, u *generator.Unit) bool {
	for _, other := range units {
		if other == u {
			return true
		}
	}
	return false
}

// summary is all that a render says.
func summary(out *generator.Output) map[string]string {
	m := map[string]string{}
	for i, d := range out.Diags {
		m[fmt.Sprintf("diagnostic %03d", i)] = fmt.Sprint(d.String(), d.Hint, d.Units)
	}
	for _, u := range out.Units {
		m[u.Name] = fmt.Sprintf("failed %t, paused %t, inputs %v", u.Failed, u.Paused, u.Inputs)
		for _, f := range out.Files(u) {
			m[u.Name+"/"+f.Path] = string(f.Data)
		}
	}
	return m
}

// payload is the files of a render alone: diagnostics name files and lines.
func payload(out *generator.Output) map[string]string {
	m := map[string]string{}
	for _, u := range out.Units {
		for _, f := range u.Files {
			m[u.Name+"/"+f.Path] = string(f.Data)
		}
	}
	return m
}

// TestPayloadDependsOnObjectsAlone renders fixtures twice, with their files shuffled, and with
// their documents merged into few files.
func TestPayloadDependsOnObjectsAlone(t *testing.T) {
	for seed := range int64(seeds) {
		w := newFixture(seed)
		for range 20 {
			w.edit()
		}
		var docs [][]byte
		for _, id := range w.ids {
			docs = append(docs, []byte(w.texts[id]))
		}
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { sameHoweverFiled(t, w.random, docs) })
	}
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for i, name := range cases {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			docs := bytes.SplitAfter(read(t, name), []byte("\n---\n"))
			for i := range docs {
				docs[i] = bytes.TrimSuffix(docs[i], []byte("---\n"))
			}
			sameHoweverFiled(t, rand.New(rand.NewSource(int64(i))), docs)
		})
	}
}

func sameHoweverFiled(t *testing.T, random *rand.Rand, docs [][]byte) {
	t.Helper()
	for i, policy := range policies() {
		opts := generator.Options{Secrets: policy,
			Runtimes: runtimes.Choice{Default: runtimeOf(random.Int63n(2) + int64(i))}}
		want := payload(renderAll(filed(docs, len(docs)), opts))
		for _, files := range []int{1 + random.Intn(3)} {
			random.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
			if diff := cmp.Diff(want, payload(renderAll(filed(docs, files), opts))); diff != "" {
				t.Fatalf("in %d files, %s (-want +got):\n%s", files, policy, diff)
			}
		}
	}
}

// filed spreads documents over so many files.
func filed(docs [][]byte, files int) []manifest.Result {
	texts := make([][][]byte, files)
	for i, d := range docs {
		texts[i%files] = append(texts[i%files], d)
	}
	var results []manifest.Result
	for i := range texts {
		file := manifest.File{Path: fmt.Sprintf("%d.yaml", i), Data: bytes.Join(texts[i], []byte("---\n"))}
		results = append(results, manifest.Parse(file, manifest.Options{}))
	}
	return results
}

// TestSecretsStaySecret looks for the values of Secrets where none may be.
func TestSecretsStaySecret(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases {
		input, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		holdSecrets(t, filepath.Base(filepath.Dir(name)), filed([][]byte{input}, 1))
	}
	for seed := range int64(seeds) {
		w := newFixture(seed)
		for range 20 {
			w.edit()
			holdSecrets(t, fmt.Sprintf("seed %d", seed), w.parse())
		}
	}
}

func holdSecrets(t *testing.T, name string, results []manifest.Result) {
	t.Helper()
	values := secretValues(results)
	for i, policy := range append(policies(), policies()...) {
		out := renderAll(results, generator.Options{Secrets: policy,
			Runtimes: runtimes.Choice{Default: runtimeOf(int64(i / 2))}})
		for _, v := range values {
			for _, d := range out.Diags {
				if strings.Contains(d.Problem()+d.Hint, v) {
					t.Errorf("%s, %s: a diagnostic shows a secret: %v", name, policy, d)
				}
			}
			for path, data := range payload(out) {
				if policy == secretref.Reference && strings.Contains(data, v) {
					t.Errorf("%s: %s holds a secret", name, path)
				}
			}
			for _, u := range out.Units {
				for _, f := range u.Files {
					if !f.Manifest && strings.Contains(string(f.Data), v) {
						t.Errorf("%s: the review text %s holds a secret", name, f.Path)
					}
				}
			}
		}
	}
}

// secretValues are the values that could not stand in a name or a message by chance, but
// for additional scrape configurations, which are configuration.
func secretValues(results []manifest.Result) []string {
	var values []string
	for _, r := range results {
		for _, o := range r.Objects {
			if o.Kind != "Secret" {
				continue
			}
			for _, v := range manifest.As[corev1.Secret](o).Data {
				if text := string(v); len(text) >= 6 && !strings.Contains(text, "job_name") {
					values = append(values, text)
				}
			}
		}
	}
	return values
}
