package fuzz

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/fixtures"
)

var (
	fuzzCount = flag.Uint64("fuzz.count", 500, "how many fixtures TestFixtures makes for each compatibility mode")
	fuzzSeed  = flag.Uint64("fuzz.seed", 1, "the seed of the first fixture; each next one has the next number")
	fuzzFrom  = flag.String("fuzz.from", "", "begin with fixtures only whose names hold this")
	fuzzLeave = flag.String("fuzz.leave", "", "a kind of objects in which nothing is changed")
)

const root = "../../.."

// TestFixtures makes fixtures in which one to three things are wrong, and asks the agent about all
// that is rendered. A failure names the seed of its fixture, which makes it again:
//
//	go test ./fuzz -run TestFixtures/MODE -fuzz.seed SEED -fuzz.count 1
//
// For more fixtures than a normal run has time for:
//
//	go test ./fuzz -run TestFixtures -fuzz.count 100000 -fuzz.seed 100000 -timeout 0
func TestFixtures(t *testing.T) {
	corpus, err := fixtures.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	corpus.Seeds = slices.DeleteFunc(corpus.Seeds, func(s fixtures.Seed) bool {
		return !strings.Contains(s.Name, *fuzzFrom)
	})
	for _, mode := range []string{"operator", "current"} {
		t.Run(mode, func(t *testing.T) { inMode(t, corpus, mode) })
	}
}

func inMode(t *testing.T, corpus *fixtures.Corpus, mode string) {
	t.Helper()
	r, err := fixtures.Start(root, filepath.Join(t.TempDir(), "renderer"), mode)
	if err != nil {
		t.Fatal(err)
	}
	w := &fixtureTest{T: t, corpus: corpus, checker: &checker{Renderer: r, dir: t.TempDir()},
		before: map[string]map[string]fixtures.Answer{}, seen: map[string]bool{}}
	for n := range *fuzzCount {
		w.one(*fuzzSeed + n)
	}
	t.Logf("%d renders with all attempts to make failures small", w.checker.renders)
}

// fixtureTest is a run over many fixtures.
type fixtureTest struct {
	*testing.T
	corpus  *fixtures.Corpus
	checker *checker
	before  map[string]map[string]fixtures.Answer // the seeds as they are
	seen    map[string]bool                       // classes of failures that were reported
}

func (w *fixtureTest) one(n uint64) {
	fixture := w.corpus.Random(n, func(kind string) bool { return kind != *fuzzLeave })
	found, after, err := w.checker.failures(fixture.Objects)
	if err != nil {
		w.Fatal(err)
	}
	for policy, a := range after {
		before := w.unchanged(fixture.Seed)[policy]
		found = append(found, blamed(before, a, fixture.Touched, policy)...)
		found = append(found, lost(before, a, fixture.Touched, policy)...)
	}
	for _, f := range found {
		w.report(fixture, f)
	}
}

// unchanged is what a seed renders to.
func (w *fixtureTest) unchanged(s fixtures.Seed) map[string]fixtures.Answer {
	if _, ok := w.before[s.Name]; !ok {
		_, answers, err := w.checker.failures(s.Clone())
		if err != nil {
			w.Fatal(err)
		}
		w.before[s.Name] = answers
	}
	return w.before[s.Name]
}

// report reports one failure of its class, as small as it gets.
func (w *fixtureTest) report(fixture fixtures.Fixture, f failure) {
	if w.seen[f.class] {
		return
	}
	w.seen[f.class] = true
	text, _ := fixtures.Encode(w.checker.smaller(fixture.Objects, f.class, 300))
	w.Errorf("seed %d, of %s: %v\n%s\n\n%s", fixture.Number, fixture.Seed.Name, f, strings.Join(fixture.Log, "\n"),
		text)
}
