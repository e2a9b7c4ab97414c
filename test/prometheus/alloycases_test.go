package prometheus

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/test/fixtures"
)

// eachIntegrationCase calls f with the conformance cases, scenarios and examples that have integrations, with random
// changes of them, and with random integrations, in each mode. Objects that one runtime refuses are taken out, because
// only the other has them.
func eachIntegrationCase(t *testing.T, f func(*testing.T, integrationCase)) {
	t.Helper()
	corpus := loadCorpus(t)
	var all []alloyFixture
	add := func(name, text string) { all = append(all, alloyFixture{name: name, text: text}) }
	add("testdata/integrations.yaml", mutated)
	some := *corpus
	some.Seeds = nil
	for _, seed := range corpus.Seeds {
		text, err := fixtures.Encode(seed.Clone())
		// some hold bytes that are not text, on purpose
		if err == nil && (strings.Contains(text, "MetricsIntegration") || strings.Contains(text, "autoscrape")) {
			some.Seeds = append(some.Seeds, seed)
			add(seed.Name, text)
		}
	}
	kinds := []string{"MetricsIntegration", "IntegrationMonitor", "Integration", "GrafanaAgent", "MetricsInstance"}
	for i := range uint64(*alloyRandom) {
		fixture := some.Random(*alloySeed+i, func(kind string) bool { return slices.Contains(kinds, kind) })
		if text, err := fixtures.Encode(fixture.Objects); err == nil {
			add(fmt.Sprintf("random %d of %s", fixture.Number, fixture.Seed.Name), text)
		}
	}
	for i := range *alloyRandom {
		add(fmt.Sprintf("random integrations %d", i),
			randomIntegrations(rand.New(rand.NewSource(int64(*alloySeed)+int64(i)))))
	}
	for n, from := range all {
		if !strings.HasPrefix(from.name, *alloyOnly) {
			continue
		}
		for m, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
			if strings.HasPrefix(from.name, "random") && n%2 != m {
				continue // for the sake of time
			}
			w := alloyFixture{name: from.name + "/" + string(mode), text: from.text, mode: mode,
				policy: secretref.Plaintext}
			if c, ok := w.clusters(t); ok {
				f(t, c)
			}
		}
	}
}

// integrationCase is a fixture in two clusters, with either program.
type integrationCase struct {
	alloyFixture
	static, native cluster
}

// clusters returns the clusters of a fixture, without the objects that one program refuses and the other does not. It
// returns false if there is no end.
func (w alloyFixture) clusters(t *testing.T) (out integrationCase, ok bool) {
	t.Helper()
	for range 5 {
		static, staticErrors := w.output(agent.Runtime())
		native, nativeErrors := w.output(alloy.Runtime())
		refused := map[string]bool{}
		for _, list := range [][2][]string{{staticErrors, nativeErrors}, {nativeErrors, staticErrors}} {
			for _, id := range list[0] {
				if !slices.Contains(list[1], id) {
					refused[id] = true
				}
			}
		}
		if len(refused) == 0 {
			return integrationCase{w, clusterOf(t, static, agent.Runtime()), clusterOf(t, native, alloy.Runtime())},
				true
		}
		w.text = without(t, w.text, refused)
	}
	return out, false
}

// without returns objects without some of them.
func without(t *testing.T, text string, ids map[string]bool) string {
	t.Helper()
	var kept []*yaml.Node
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var o struct {
			Kind     string
			Metadata struct{ Namespace, Name string }
		}
		if err := doc.Decode(&o); err == nil && !ids[o.Kind+"/"+o.Metadata.Namespace+"/"+o.Metadata.Name] {
			kept = append(kept, doc.Content[0])
		}
	}
	out, err := fixtures.Encode(kept)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
