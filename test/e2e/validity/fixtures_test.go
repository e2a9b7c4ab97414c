package validity

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentry-dev/agentry/test/e2e/harness"
	"github.com/agentry-dev/agentry/test/fixtures"
)

var (
	fixturesTime  = flag.Duration("fixtures", 20*time.Second, "how long TestRandomFixtures makes fixtures")
	fixturesFirst = flag.Uint64("fixtures.first", 1, "the number of the first fixture")
	fixturesFrom  = flag.String("fixtures.from", "", "begin with fixtures only whose names hold this")
	fixturesOne   = flag.Bool("fixtures.one", false, "make only that fixture")
)

// batchSize is how many fixtures a process judges: its start costs as much as some of them.
const batchSize = 50

// TestRandomFixtures makes one to three fields of good manifests wrong, over and over, and asks
// Kubernetes' code about all that agentry still renders: what it refuses, agentry should have
// refused first, with the name of the object to blame. In every other fixture only a GrafanaAgent is
// wrong, of which most goes into the pods as it is. To look further:
//
//	cd test/e2e && go test ./validity -run TestRandomFixtures -fixtures 1h -fixtures.first 100000 -timeout 0
//
// A failure names the number of its fixture; with -fixtures.first and -fixtures.one it is made again.
func TestRandomFixtures(t *testing.T) {
	corpus, err := fixtures.Load(harness.Root())
	if err != nil {
		t.Fatal(err)
	}
	corpus.Seeds = slices.DeleteFunc(corpus.Seeds, func(s fixtures.Seed) bool {
		return !strings.Contains(s.Name, *fixturesFrom)
	})
	renderer, err := fixtures.Start(harness.Root(), filepath.Join(t.TempDir(), "renderer"), "operator")
	if err != nil {
		t.Fatal(err)
	}
	k := &kubernetes{t: t, renderer: renderer}
	seen := map[string]bool{}
	next := *fixturesFirst
	for begin := time.Now(); next == *fixturesFirst || !*fixturesOne && time.Since(begin) < *fixturesTime; {
		var batch []fixtures.Fixture
		for len(batch) == 0 || len(batch) < batchSize && !*fixturesOne {
			batch = append(batch, corpus.Random(next, func(kind string) bool {
				return next%2 == 0 || kind == "GrafanaAgent"
			}))
			next++
		}
		for _, r := range k.refused(batch) {
			if class := r.class(); !seen[class] {
				seen[class] = true
				t.Errorf("fixture %d, of %s: %s\n%s\n\n%s", r.fixture.Number, r.fixture.Seed.Name, r,
					strings.Join(r.fixture.Log, "\n"), k.smaller(r))
			}
		}
	}
	t.Logf("fixtures %d to %d: %d objects were rendered", *fixturesFirst, next-1, k.objects)
	if k.objects < int(next-*fixturesFirst) {
		t.Error("hardly anything was rendered")
	}
}

// kubernetes judges what is rendered.
type kubernetes struct {
	t        *testing.T
	renderer *fixtures.Renderer
	objects  int
}

// refusal is what Kubernetes has against an object that was rendered from a fixture.
type refusal struct {
	fixture             fixtures.Fixture
	policy, object, why string
	doubted             bool // agentry warned
}

func (r refusal) String() string { return fmt.Sprintf("%s: %s: %s", r.policy, r.object, r.why) }

var values = regexp.MustCompile(`"(\\.|[^"\\])*"|\[[0-9]+\]|[0-9]+`)

// class is equal for refusals that are about the same.
func (r refusal) class() string {
	kind, _, _ := strings.Cut(r.object, "/")
	class := kind + " " + values.ReplaceAllString(r.why, "_")
	return class[:min(len(class), 100)]
}

// refused renders fixtures and returns what Kubernetes refuses, or warns of alone.
func (k *kubernetes) refused(batch []fixtures.Fixture) (out []refusal) {
	k.t.Helper()
	var stream bytes.Buffer
	var asked []refusal // by document
	for _, w := range batch {
		text, err := fixtures.Encode(w.Objects)
		if err != nil {
			continue // not even YAML
		}
		answers, err := k.renderer.Render(text)
		if err != nil {
			k.t.Fatalf("%v, in the fixture\n%s", err, text)
		}
		for _, policy := range slices.Sorted(maps.Keys(answers)) {
			doubted := slices.ContainsFunc(answers[policy].Findings, func(f fixtures.Finding) bool {
				return f.Code == "pod-warning"
			})
			for _, file := range slices.Sorted(maps.Keys(answers[policy].Files)) {
				fmt.Fprintf(&stream, "---\n%s\n", answers[policy].Files[file])
				asked = append(asked, refusal{fixture: w, policy: policy, object: file, doubted: doubted})
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	k.objects += len(asked)
	said := judge(k.t, stream.Bytes())
	if len(said) != len(asked) {
		k.t.Fatalf("%d objects were rendered, %d judged", len(asked), len(said))
	}
	for i, a := range said {
		against := a.Errors
		for _, w := range a.Warnings {
			if !asked[i].doubted {
				against = append(against, "warning: "+w)
			}
		}
		for _, why := range against {
			r := asked[i]
			if a.Object != "" {
				r.object = a.Object
			}
			r.why = why
			out = append(out, r)
		}
	}
	return out
}

// smaller is a small fixture with the same refusal.
func (k *kubernetes) smaller(r refusal) string {
	text, _ := fixtures.Encode(fixtures.Smaller(r.fixture.Objects, 150, func(objects []*yaml.Node) bool {
		return slices.ContainsFunc(k.refused([]fixtures.Fixture{{Objects: objects}}), func(other refusal) bool {
			return other.class() == r.class()
		})
	}))
	return text
}
