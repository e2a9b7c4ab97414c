package fuzz

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/worlds"
)

var (
	fuzzTime  = flag.Duration("fuzz.worlds", 20*time.Second, "how long TestWorlds makes worlds")
	fuzzSeed  = flag.Uint64("fuzz.seed", 1, "the seed of the first world; each next one has the next number")
	fuzzOne   = flag.Bool("fuzz.one", false, "make only the world of the seed")
	fuzzFrom  = flag.String("fuzz.from", "", "begin with worlds only whose names hold this")
	fuzzLeave = flag.String("fuzz.leave", "", "a kind of objects in which nothing is changed")
)

const root = "../../.."

// TestWorlds makes worlds in which one to three things are wrong, and asks the agent about all
// that is rendered. A failure names the seed of its world, which makes it again:
//
//	go test ./fuzz -run TestWorlds -fuzz.seed SEED -fuzz.one
//
// For more worlds than a normal run has time for:
//
//	go test ./fuzz -run TestWorlds -fuzz.worlds 1h -fuzz.seed 100000 -timeout 0
func TestWorlds(t *testing.T) {
	corpus, err := worlds.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	corpus.Seeds = slices.DeleteFunc(corpus.Seeds, func(s worlds.Seed) bool { return !strings.Contains(s.Name, *fuzzFrom) })
	r, err := worlds.Start(root, filepath.Join(t.TempDir(), "renderworlds"))
	if err != nil {
		t.Fatal(err)
	}
	w := &worldTest{T: t, corpus: corpus, judge: &judge{Renderer: r, dir: t.TempDir()}, before: map[string]map[string]worlds.Answer{}, seen: map[string]bool{}}
	n := *fuzzSeed
	for begin := time.Now(); n == *fuzzSeed || !*fuzzOne && time.Since(begin) < *fuzzTime; n++ {
		w.one(n)
	}
	t.Logf("worlds %d to %d; %d renders with all attempts to make failures small", *fuzzSeed, n-1, w.judge.renders)
}

// worldTest is a run over many worlds.
type worldTest struct {
	*testing.T
	corpus *worlds.Corpus
	judge  *judge
	before map[string]map[string]worlds.Answer // the seeds as they are
	seen   map[string]bool                     // classes of failures that were reported
}

func (w *worldTest) one(n uint64) {
	world := w.corpus.Random(n, func(kind string) bool { return kind != *fuzzLeave })
	found, after, err := w.judge.failures(world.Objects)
	if err != nil {
		w.Fatal(err)
	}
	for policy, a := range after {
		before := w.unchanged(world.Seed)[policy]
		found = append(found, blamed(before, a, world.Touched, policy)...)
		found = append(found, lost(before, a, world.Touched, policy)...)
	}
	for _, f := range found {
		w.report(world, f)
	}
}

// unchanged is what a seed renders to.
func (w *worldTest) unchanged(s worlds.Seed) map[string]worlds.Answer {
	if _, ok := w.before[s.Name]; !ok {
		_, answers, err := w.judge.failures(s.Clone())
		if err != nil {
			w.Fatal(err)
		}
		w.before[s.Name] = answers
	}
	return w.before[s.Name]
}

// report reports one failure of its class, as small as it gets.
func (w *worldTest) report(world worlds.World, f failure) {
	if w.seen[f.class] {
		return
	}
	w.seen[f.class] = true
	text, _ := worlds.Encode(w.judge.smaller(world.Objects, f.class, 300))
	w.Errorf("seed %d, of %s: %v\n%s\n\n%s", world.Number, world.Seed.Name, f, strings.Join(world.Log, "\n"), text)
}
