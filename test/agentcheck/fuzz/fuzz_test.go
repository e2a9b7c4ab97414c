package fuzz

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	corpus, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	corpus.seeds = slices.DeleteFunc(corpus.seeds, func(s seed) bool { return !strings.Contains(s.name, *fuzzFrom) })
	r, err := start(root, filepath.Join(t.TempDir(), "renderworlds"))
	if err != nil {
		t.Fatal(err)
	}
	w := &worldTest{T: t, corpus: corpus, judge: &judge{renderer: r, dir: t.TempDir()}, before: map[string]map[string]answer{}, seen: map[string]bool{}}
	n := *fuzzSeed
	for begin := time.Now(); n == *fuzzSeed || !*fuzzOne && time.Since(begin) < *fuzzTime; n++ {
		w.one(n)
	}
	t.Logf("worlds %d to %d; %d renders with all attempts to make failures small", *fuzzSeed, n-1, w.judge.worlds)
}

// worldTest is a run over many worlds.
type worldTest struct {
	*testing.T
	corpus *corpus
	judge  *judge
	before map[string]map[string]answer // the seeds as they are
	seen   map[string]bool              // classes of failures that were reported
}

func (w *worldTest) one(n uint64) {
	random := rand.New(rand.NewPCG(n, 0))
	s := w.corpus.seeds[random.IntN(len(w.corpus.seeds))]
	m := &mutator{corpus: w.corpus, random: random, touched: map[string]bool{}, objects: cloneAll(s.objects), leave: *fuzzLeave}
	for range 1 + random.IntN(3) {
		m.mutate()
	}
	found, after, err := w.judge.failures(m.objects)
	if err != nil {
		w.Fatal(err)
	}
	for policy, a := range after {
		before := w.unchanged(s)[policy]
		found = append(found, blamed(before, a, m.touched, policy)...)
		found = append(found, lost(before, a, m.touched, policy)...)
	}
	for _, f := range found {
		w.report(n, s, m, f)
	}
}

// unchanged is what a seed renders to.
func (w *worldTest) unchanged(s seed) map[string]answer {
	if _, ok := w.before[s.name]; !ok {
		_, answers, err := w.judge.failures(cloneAll(s.objects))
		if err != nil {
			w.Fatal(err)
		}
		w.before[s.name] = answers
	}
	return w.before[s.name]
}

// report reports one failure of its class, as small as it gets.
func (w *worldTest) report(n uint64, s seed, m *mutator, f failure) {
	if w.seen[f.class] {
		return
	}
	w.seen[f.class] = true
	objects, err := w.judge.smaller(m.objects, f.class, 300)
	if err != nil {
		w.Fatal(err)
	}
	text, _ := encode(objects)
	w.Errorf("seed %d, of %s: %v\n%s\n\n%s", n, s.name, f, strings.Join(m.log, "\n"), text)
}
