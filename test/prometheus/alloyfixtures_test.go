package prometheus

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/test/fixtures"
)

var (
	alloyRandom = flag.Int("alloy.random", 150, "how many random fixtures the tests of Alloy render")
	alloyOnly   = flag.String("alloy.only", "",
		"the beginning of the names of the fixtures that the tests of Alloy render")
	alloySeed = flag.Uint64("alloy.seed", 1, "the number of the first random fixture")
)

// alloyFixture is what both runtimes render.
type alloyFixture struct {
	name   string
	text   string
	mode   manifest.Compatibility
	policy secretref.Policy
}

// loadCorpus returns the objects that the tests of Alloy start from.
func loadCorpus(t *testing.T) *fixtures.Corpus {
	t.Helper()
	corpus, err := fixtures.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	return corpus
}

// eachAlloyFixture calls f with every conformance case, scenario and example, and with random changes of them, in each
// mode and under each policy. What Alloy is not rendered for yet is taken out of them.
func eachAlloyFixture(t *testing.T, f func(*testing.T, alloyFixture)) {
	t.Helper()
	corpus := loadCorpus(t)
	var all []alloyFixture
	add := func(name string, objects []*yaml.Node) {
		// some hold bytes that are not text, on purpose
		if text, err := fixtures.Encode(forAlloy(objects)); err == nil {
			all = append(all, alloyFixture{name: name, text: text})
		}
	}
	for _, seed := range corpus.Seeds {
		add(seed.Name, seed.Clone())
	}
	rendered := func(kind string) bool {
		return slices.Contains([]string{"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "GrafanaAgent",
			"MetricsInstance", "LogsInstance", "PodLogs"}, kind)
	}
	for i := range uint64(*alloyRandom) {
		fixture := corpus.Random(*alloySeed+i, rendered)
		add(fmt.Sprintf("random %d of %s", fixture.Number, fixture.Seed.Name), fixture.Objects)
	}
	for _, w := range all {
		if !strings.HasPrefix(w.name, *alloyOnly) {
			continue
		}
		for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
			for _, policy := range []secretref.Policy{secretref.Plaintext, secretref.Reference} {
				f(t, alloyFixture{name: w.name + "/" + string(mode) + "/" + string(policy), text: w.text, mode: mode,
					policy: policy})
			}
		}
	}
}

// forAlloy returns the objects that are rendered for Alloy.
func forAlloy(objects []*yaml.Node) (out []*yaml.Node) {
	for _, o := range objects {
		if kind := fixtures.Kind(o); kind != "Integration" && kind != "MetricsIntegration" {
			out = append(out, o)
		}
	}
	return out
}

// render returns the configurations of metrics pods by their GrafanaAgent, and the errors.
func (w alloyFixture) render(t *testing.T, r runtimes.Runtime) (configs map[string]string, errors []string) {
	t.Helper()
	return w.renderPods(t, r, "-config")
}

// renderLogs returns the configurations of the pods that read logs.
func (w alloyFixture) renderLogs(t *testing.T, r runtimes.Runtime) (configs map[string]string, errors []string) {
	t.Helper()
	return w.renderPods(t, r, "-logs-config")
}

// renderPods returns the configurations of the pods whose Secret is called like their GrafanaAgent, with an ending.
func (w alloyFixture) renderPods(t *testing.T, r runtimes.Runtime, secret string) (configs map[string]string,
	errors []string) {
	t.Helper()
	out, errors := w.output(r)
	configs = map[string]string{}
	for _, u := range out.Units {
		_, agent, _ := strings.Cut(u.Name, "/")
		for _, f := range u.Files {
			if f.Path == agent+secret+".secret.yaml" {
				configs[u.Name] = secretText(t, f.Data, r.ConfigKey)
			}
		}
	}
	return configs, errors
}

// output returns everything that is rendered, and the objects with errors.
func (w alloyFixture) output(r runtimes.Runtime) (out *generator.Output, errors []string) {
	parsed := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(w.text)},
		manifest.Options{Compatibility: w.mode})
	out = generator.Render(manifest.NewSet(parsed),
		generator.Options{Compatibility: w.mode, Secrets: w.policy,
			Runtimes: runtimes.Choice{Default: r, IsFixed: true}}, nil)
	for _, d := range out.Diags {
		if d.Severity == diag.Error {
			errors = append(errors, d.Object.String())
		}
	}
	return out, errors
}

// secretText returns the text under a key of a Secret, which can be zipped.
func secretText(t *testing.T, data []byte, key string) string {
	t.Helper()
	var s struct{ StringData, Data map[string]string }
	if err := k8syaml.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	if text, ok := s.StringData[key]; ok {
		return text
	}
	raw, err := base64.StdEncoding.DecodeString(s.Data[key])
	if err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
