package manifest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// randomFile has up to three documents of few names, good ones and bad ones.
func randomFile(random *rand.Rand, name string) manifest.Result {
	text := ""
	for range random.IntN(4) {
		if random.IntN(4) == 0 {
			text += fmt.Sprintf("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ns%d, labels: {team: t%d}}\n",
				random.IntN(3), random.IntN(2))
			continue
		}
		kind := []string{"ServiceMonitor", "PodMonitor"}[random.IntN(2)]
		spec := map[string]string{"ServiceMonitor": "{selector: {}, endpoints: []}",
			"PodMonitor": "{selector: {}, podMetricsEndpoints: []}"}[kind]
		if random.IntN(12) == 0 {
			spec = "{selector: 3}"
		}
		text += fmt.Sprintf(
			"---\napiVersion: monitoring.coreos.com/v1\nkind: %s\nmetadata: {name: n%d, namespace: ns%d}\nspec: %s\n",
			kind, random.IntN(5), random.IntN(2), spec)
	}
	return manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, manifest.Options{})
}

// TestAChangedSetEqualsANewOne edits files at random: a set that is changed by what is gone
// and what came must be the one that is made of all files, and share its names with the set
// before if and only if it has the same.
func TestAChangedSetEqualsANewOne(t *testing.T) {
	t.Parallel()
	changed, refused, renamed := 0, 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		files := make([]manifest.Result, 4)
		for i := range files {
			files[i] = randomFile(random, fmt.Sprint(i))
		}
		set := manifest.NewSet(files...)
		for step := range 10 {
			var gone, came []*manifest.Object
			leftOut := false
			for range 1 + random.IntN(2) {
				i := random.IntN(len(files))
				next := randomFile(random, fmt.Sprint(i))
				leftOut = leftOut || len(files[i].LeftOut)+len(next.LeftOut) > 0
				gone, came = append(gone, files[i].Objects...), append(came, next.Objects...)
				files[i] = next
			}
			fresh := manifest.NewSet(files...)
			next, ok := set.Change(gone, came)
			if leftOut || !ok {
				refused++
				set = fresh
				continue
			}
			if diff := cmp.Diff(contents(fresh), contents(next)); diff != "" {
				t.Fatalf("seed %d, step %d: -new +changed\n%s", seed, step, diff)
			}
			same := slices.EqualFunc(set.All(), next.All(), func(a, b *manifest.Object) bool { return a.ID == b.ID })
			if next.SameNames(set) && !same {
				t.Fatalf("seed %d, step %d: the names are others", seed, step)
			}
			if changed++; !same {
				renamed++
			}
			set = next
		}
	}
	if changed < 100 || refused < 100 || renamed < 50 {
		t.Errorf("%d sets were changed, %d to others, and %d made anew", changed, renamed, refused)
	}
}

// contents is all that a set says.
func contents(s *manifest.Set) map[string][]string {
	out := map[string][]string{}
	list := func(key string, objects []*manifest.Object) {
		for _, o := range objects {
			out[key] = append(out[key], fmt.Sprintf("%p", o))
		}
	}
	list("all", s.All())
	list("service monitors", s.Kind("ServiceMonitor"))
	list("pod monitors", s.Kind("PodMonitor"))
	list("namespaces", s.Kind("Namespace"))
	list("left out", s.LeftOut())
	for i, group := range s.Duplicates() {
		list(fmt.Sprint("duplicates ", i), group)
	}
	return out
}

// TestStandInsKeepNames lets the same objects stand in, be added and be taken out before and
// after an edit that changes no name: the names are known to be the same, and what was replaced
// is found. With others they are not the same unless the identities are.
func TestStandInsKeepNames(t *testing.T) {
	t.Parallel()
	object := func(name, labels string) *manifest.Object {
		text := fmt.Sprintf(
			"apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n"+
				"metadata: {name: %s, namespace: ns0, labels: {%s}}\nspec: {selector: {}, podMetricsEndpoints: []}\n",
			name, labels)
		result := manifest.Parse(manifest.File{Path: name + ".yaml", Data: []byte(text)}, manifest.Options{})
		if len(result.Objects) != 1 {
			t.Fatal(result.Diags)
		}
		return result.Objects[0]
	}
	a, b, b2, c, c2 := object("a", ""), object("b", ""), object("b", "x: z"), object("c", ""), object("c", "x: z")
	stands := func(o *manifest.Object) map[manifest.ID]*manifest.Object {
		return map[manifest.ID]*manifest.Object{o.ID: o}
	}
	before := manifest.NewSet(manifest.Result{Objects: []*manifest.Object{a, b}})
	after, ok := before.Change([]*manifest.Object{b}, []*manifest.Object{b2})
	if !ok || !after.SameNames(before) {
		t.Fatal("an edit changed the names")
	}
	x, y := before.With(stands(c)), after.With(stands(c2))
	replaced, ok := y.Replaced(x)
	if want := map[*manifest.Object]*manifest.Object{b: b2, c: c2}; !ok || !maps.Equal(replaced, want) {
		t.Errorf("replaced %v %t, want %v", replaced, ok, want)
	}
	without := map[manifest.ID]*manifest.Object{c.ID: nil}
	for name, set := range map[string]*manifest.Set{
		"taken out instead": after.With(without), "nothing": after, "another": after.With(stands(object("d", ""))),
		"twice": y.With(without),
	} {
		if set.SameNames(x) || x.SameNames(set) {
			t.Errorf("%s: has the names", name)
		}
	}
}
