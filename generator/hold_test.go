package generator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// lastGood is what units were rendered from: by unit and object, nil for a text that is lost.
type lastGood map[string]map[manifest.ID]*manifest.Object

func (p lastGood) Last(unit string, id manifest.ID) (*manifest.Object, bool) {
	o, had := p[unit][id]
	return o, had
}

// Owns says of nothing that it was there: who stays in a conflict is tested where there are folders.
func (p lastGood) Owns(string, manifest.ID) bool { return false }

// Written says of nothing that it was there, either.
func (p lastGood) Written(string, string) []byte { return nil }

// note takes a render over: what its units were rendered from. Units without files stay.
func (p lastGood) note(out *generator.Output, set *manifest.Set) {
	for _, u := range out.Units {
		if u.Failed || u.Paused {
			continue
		}
		held := map[manifest.ID]*manifest.Object{}
		for _, h := range u.Held {
			held[h.ID] = h.StandIn
		}
		p[u.Name] = map[manifest.ID]*manifest.Object{}
		for _, id := range u.Inputs {
			p[u.Name][id] = set.Get(id)
			if o := held[id]; o != nil {
				p[u.Name][id] = o
			}
		}
	}
}

// TestHold renders the files below head of each archive in testdata/hold, after those below
// past. The first line of its comment may set flags, as in [TestScenarios]; "lost:" before an
// identity makes its text unknown. Run with -update to accept.
func TestHold(t *testing.T) {
	names, err := filepath.Glob("testdata/hold/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			got := []byte(holdStory(t, archive))
			archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "outcome" })
			archive.Files = append(archive.Files, txtar.File{Name: "outcome", Data: got})
			got = txtar.Format(archive)
			if diff := cmp.Diff(string(data), string(got)); diff != "" {
				if *update {
					err = os.WriteFile(name, got, 0o644)
				} else {
					t.Errorf("(-want +got), run with -update to accept:\n%s", diff)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// holdStory tells what became of each unit.
func holdStory(t *testing.T, archive *txtar.Archive) string {
	opts := scenarioOptions(t, string(archive.Comment))
	read := func(prefix string) *manifest.Set {
		var results []manifest.Result
		for _, f := range archive.Files {
			if file, ok := strings.CutPrefix(f.Name, prefix); ok {
				results = append(results, manifest.Parse(manifest.File{Path: file, Data: f.Data}, manifest.Options{}))
			}
		}
		return manifest.NewSet(results...)
	}
	before := read("past/")
	first := generator.Render(before, opts, nil)
	if first.Diags.HasErrors() {
		t.Fatal(first.Diags)
	}
	p := lastGood{}
	p.note(first, before)
	for line := range strings.Lines(string(archive.Comment)) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "lost: "); ok {
			kind, rest, _ := strings.Cut(id, "/")
			namespace, name, _ := strings.Cut(rest, "/")
			for _, objects := range p {
				objects[manifest.ID{Kind: kind, Namespace: namespace, Name: name}] = nil
			}
		}
	}
	opts.LastGood = p
	now := read("head/")
	out := generator.Render(now, opts, nil)
	checkHeld(t, out, now, opts)
	return outcome(out)
}

func outcome(out *generator.Output) string {
	var b strings.Builder
	for _, u := range out.Units {
		switch {
		case u.Failed:
			fmt.Fprintf(&b, "%s cannot be rendered\n", u.Name)
			continue
		case u.Paused:
			fmt.Fprintf(&b, "%s is paused\n", u.Name)
			continue
		}
		fmt.Fprintf(&b, "%s is rendered from", u.Name)
		for _, id := range u.Inputs {
			fmt.Fprintf(&b, " %s", id)
		}
		b.WriteString("\n")
		for _, h := range u.Held {
			what := "held"
			if h.StandIn == nil {
				what = "left out"
			}
			fmt.Fprintf(&b, "\t%s %s: %s\n", h.ID, what, h.Reason.Code)
		}
	}
	for _, d := range out.Diags {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// checkHeld checks what is true of every render: that a unit is what its versions alone
// would be rendered to, without an error.
func checkHeld(t *testing.T, out *generator.Output, set *manifest.Set, opts generator.Options) {
	t.Helper()
	opts.LastGood = nil
	for _, u := range out.Units {
		if u.Failed || u.Paused {
			continue
		}
		versions := map[manifest.ID]*manifest.Object{}
		leftSource := false
		for _, h := range u.Held {
			versions[h.ID] = h.StandIn
			leftSource = leftSource || h.StandIn == nil && (h.Kind == "Secret" || h.Kind == "ConfigMap")
		}
		if leftSource {
			continue // without hand-written jobs; without the Secret it would be an error
		}
		alone := generator.Render(set.With(versions), opts, nil)
		for _, v := range alone.Units {
			if v.Name != u.Name {
				continue
			}
			if v.Failed || len(v.Held) > 0 {
				t.Errorf("%s: what it is rendered from is not good: failed %v, held %v\n%v", u.Name, v.Failed, v.Held,
					alone.Diags)
			}
			if diff := cmp.Diff(v.Files, u.Files); diff != "" {
				t.Errorf("%s is not what its versions render to (-versions +unit):\n%s", u.Name, diff)
			}
		}
	}
}

// TestHoldAtRandom edits rounds at random, each render falling back on the ones before.
func TestHoldAtRandom(t *testing.T) {
	held, failed := 0, 0
	rounds := 6 * seeds
	if testing.Short() {
		rounds = 1 // make race runs them all
	}
	for seed := range int64(rounds) {
		for _, policy := range policies() {
			t.Run(fmt.Sprintf("seed %d, %s", seed, policy), func(t *testing.T) {
				w, p := newFixture(seed), lastGood{}
				for step := range 30 {
					edit := w.edit()
					set := manifest.NewSet(w.parse()...)
					opts := generator.Options{Secrets: policy, LastGood: p,
						Runtimes: runtimes.Choice{Default: runtimeOf(seed)}}
					out := generator.Render(set, opts, nil)
					checkHeld(t, out, set, opts)
					checkStandIns(t, out, p)
					if again := generator.Render(set, opts, out); !cmp.Equal(summary(out), summary(again)) {
						t.Error(cmp.Diff(summary(out), summary(again)))
					}
					if t.Failed() {
						t.Fatalf("at step %d: %s", step, edit)
					}
					for _, u := range out.Units {
						for _, h := range u.Held {
							if h.StandIn != nil {
								held++
							}
						}
						if u.Failed {
							failed++
						}
					}
					p.note(out, set)
				}
			})
		}
	}
	if held == 0 || failed == 0 {
		t.Errorf("the rounds are too good: %d objects held, %d units failed", held, failed)
	}
}

// checkStandIns checks that no unit loses an object that it was rendered from to an error,
// and that nothing is held without one.
func checkStandIns(t *testing.T, out *generator.Output, p lastGood) {
	t.Helper()
	for _, u := range out.Units {
		for _, h := range u.Held {
			last, had := p.Last(u.Name, h.ID)
			if had != (h.StandIn != nil) || h.StandIn != last {
				t.Errorf("%s: stand-in of %s is %v, was rendered from it: %v", u.Name, h.ID, h.StandIn, had)
			}
			if h.Reason.Severity != diag.Error {
				t.Errorf("%s: %s is held without an error", u.Name, h.ID)
			}
			if !slices.ContainsFunc(out.Diags, func(d diag.Diagnostic) bool { return names(d, h.ID) }) {
				t.Errorf("%s: nothing is told of %s, held for %v", u.Name, h.ID, h.Reason)
			}
		}
		if u.Failed && !out.Diags.HasErrors() {
			t.Errorf("%s failed without an error", u.Name)
		}
	}
}

// names reports whether a finding is about an object, or names it beside another.
func names(d diag.Diagnostic, id manifest.ID) bool {
	return slices.ContainsFunc(append(slices.Clip(d.Related), d.Object), func(o diag.Object) bool {
		return o.Kind == id.Kind && o.Namespace == id.Namespace && o.Name == id.Name
	})
}
