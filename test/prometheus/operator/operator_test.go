package operator

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	node "gopkg.in/yaml.v3"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/test/fixtures"
)

var (
	count = flag.Uint64("operator.fixtures", 200, "how many fixtures TestFixtures makes")
	seed  = flag.Uint64("operator.seed", 1, "the number of the first fixture; each next one has the next number")
)

const root = "../../.."

// TestFixtures holds what compatibility: current makes of random objects against what the Prometheus Operator makes of
// them. A failure names the number of its fixture, which makes it again:
//
//	go test . -operator.seed NUMBER -operator.fixtures 1
func TestFixtures(t *testing.T) {
	c := comparison{T: t, seen: map[string]bool{}, allowed: map[string]int{}, agents: agents(t)}
	var err error
	if c.oracle, err = newOracle(); err != nil {
		t.Fatal(err)
	}
	if c.renderer, err = fixtures.Start(root, filepath.Join(t.TempDir(), "renderer"), "current"); err != nil {
		t.Fatal(err)
	}
	corpus, err := fixtures.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	corpus.Seeds = slices.DeleteFunc(corpus.Seeds, func(s fixtures.Seed) bool {
		return !strings.HasPrefix(s.Name, "prometheus-operator/")
	})
	for n := *seed; n < *seed+*count; n++ {
		c.fixture(n, corpus.Random(n, func(kind string) bool { return monitors[kind] }))
	}
	if *count >= 100 && (c.equal < 100 || c.whole > c.equal/10) {
		t.Errorf("only %d objects were compared", c.equal)
	}
	t.Logf("%d fixtures: %d objects equal, %d fixtures refused by the Prometheus Operator as a whole; differences on "+
		"purpose: %v", *count, c.equal, c.whole, c.allowed)
}

// monitors are the kinds in which something is changed.
var monitors = map[string]bool{"ServiceMonitor": true, "PodMonitor": true, "Probe": true, "ScrapeConfig": true}

// comparison is a run over many fixtures.
type comparison struct {
	*testing.T
	oracle       *oracle
	renderer     *fixtures.Renderer
	agents       [][]*node.Node
	equal, whole int
	seen         map[string]bool // classes of failures that were reported
	allowed      map[string]int  // differences on purpose, by their reason
}

func (c *comparison) fixture(n uint64, f fixtures.Fixture) {
	agent := c.agents[n%uint64(len(c.agents))]
	var objects []*node.Node
	for _, o := range f.Objects {
		if kind := fixtures.Kind(o); kind != "GrafanaAgent" && kind != "MetricsInstance" {
			objects = append(objects, o)
		}
	}
	differences, err := c.differences(agent, objects)
	if err != nil {
		c.Fatalf("fixture %d of %s: %v", n, f.Seed.Name, err)
	}
	for _, d := range differences {
		if c.seen[d.class] {
			continue
		}
		c.seen[d.class] = true
		small := fixtures.Smaller(objects, 100, func(objects []*node.Node) bool {
			found, err := c.differences(agent, objects)
			return err == nil && slices.ContainsFunc(found, func(other difference) bool {
				return other.class == d.class
			})
		})
		text, _ := fixtures.Encode(slices.Concat(agent, small))
		c.Errorf("fixture %d of %s: %s\n%s\n%s\n\n%s", n, f.Seed.Name, d.class, d.text, strings.Join(f.Log, "\n"), text)
	}
}

// difference is one that is not on purpose.
type difference struct{ class, text string }

// differences compares what becomes of each object.
func (c *comparison) differences(agent, objects []*node.Node) (found []difference, err error) {
	objects = slices.Concat(agent, objects)
	text, err := fixtures.Encode(objects)
	if err != nil {
		return nil, nil // it has bytes that are not text, which no object can have
	}
	answers, err := c.renderer.Render(text)
	if err != nil {
		return nil, err
	}
	answer := answers["plaintext"]
	if answer.Panic != "" {
		return nil, fmt.Errorf("agentry panics: %s", answer.Panic)
	}
	got, err := rendered(answer)
	if err != nil {
		return nil, err
	}
	want, err := c.oracle.judge(objects)
	if err != nil {
		c.whole++
		return nil, nil
	}
	refused := map[string]fixtures.Finding{}
	for _, finding := range answer.Findings {
		if finding.Severity == "error" {
			for _, object := range append(strings.Fields(finding.Related), finding.Object) {
				refused[object] = finding
			}
		}
	}
	ids := map[string]bool{}
	for _, all := range []map[string]map[string]any{want.jobs, got} {
		for id := range all {
			ids[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if isDefinedTwice(id, objects) {
			continue
		}
		finding, isRefused := refused[id]
		if d := c.compare(id, want, got[id], finding, isRefused); d != nil {
			found = append(found, *d)
		}
	}
	return found, nil
}

// isDefinedTwice reports whether there are two objects of a name. The operator never sees two, as a cluster has one.
func isDefinedTwice(id string, objects []*node.Node) bool {
	n := 0
	for _, o := range objects {
		parts := []string{fixtures.Kind(o)}
		for _, field := range []string{"namespace", "name"} {
			if value := fixtures.Child(fixtures.Child(o, "metadata"), field); value != nil {
				parts = append(parts, value.Value)
			}
		}
		if strings.Join(parts, "/") == id {
			n++
		}
	}
	return n > 1
}

// compare compares what becomes of one object.
func (c *comparison) compare(id string, want verdict, got map[string]any, finding fixtures.Finding,
	refused bool) *difference {
	kind := strings.SplitN(id, "/", 2)[0]
	_, rejected := want.rejected[id]
	switch {
	case refused && len(got) == 0 && !rejected:
		if reason, known := stricter[finding.Code]; known {
			c.allowed[reason]++
			return nil
		}
		return &difference{kind + " is refused for " + finding.Code, finding.Object + ": " + finding.Message}
	case rejected && len(got) > 0:
		for _, l := range laxer {
			if l.reason.MatchString(want.why(id)) {
				c.allowed[l.why]++
				return nil
			}
		}
		return &difference{kind + " is rendered, and the Prometheus Operator leaves it out", want.why(id)}
	}
	theirs, ours := map[string]any{}, map[string]any{}
	for name, job := range want.jobs[id] {
		theirs[name] = plain(job)
	}
	for name, job := range got {
		var reasons []string
		if ours[name], reasons = withoutAdditions(kind, theirs[name], plain(job)); len(reasons) > 0 {
			c.allowed[strings.Join(reasons, ", ")]++
		}
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		return &difference{kind + " differs at " + strings.Join(changedKeys(theirs, ours), " "),
			"-Prometheus Operator +agentry\n" + diff}
	}
	c.equal++
	return nil
}

// changedKeys returns the settings of jobs that differ.
func changedKeys(theirs, ours map[string]any) []string {
	keys := map[string]bool{}
	for name := range maps.Keys(theirs) {
		a, _ := theirs[name].(map[string]any)
		b, _ := ours[name].(map[string]any)
		for key := range a {
			keys[key] = keys[key] || !cmp.Equal(a[key], b[key])
		}
		for key := range b {
			keys[key] = keys[key] || !cmp.Equal(a[key], b[key])
		}
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(keys))
}

// rendered returns the jobs in the configuration that agentry rendered.
func rendered(a fixtures.Answer) (map[string]map[string]any, error) {
	for path, file := range a.Files {
		if !strings.HasSuffix(path, "-config.secret.yaml") {
			continue
		}
		var secret struct {
			StringData, Data map[string]string
		}
		if err := yaml.Unmarshal([]byte(file), &secret); err != nil {
			return nil, err
		}
		text := []byte(secret.StringData["agent.yml"])
		if zipped := secret.Data["agent.yml"]; zipped != "" {
			r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(zipped)))
			if err != nil {
				return nil, err
			}
			if text, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
		var config struct {
			Metrics struct{ Configs []any }
		}
		if err := yaml.Unmarshal(text, &config); err != nil {
			return nil, err
		}
		if len(config.Metrics.Configs) != 1 {
			return nil, fmt.Errorf("%d instances", len(config.Metrics.Configs))
		}
		instance, err := yaml.Marshal(config.Metrics.Configs[0])
		if err != nil {
			return nil, err
		}
		return jobsOf(bytes.TrimSpace(instance))
	}
	return nil, nil
}

// jobsOf returns the jobs of a Prometheus configuration, or of an instance of the agent, by the object that they are
// of.
func jobsOf(text []byte) (map[string]map[string]any, error) {
	var config struct {
		Jobs []map[string]any `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	out := map[string]map[string]any{}
	for _, job := range config.Jobs {
		name := fmt.Sprint(job["job_name"])
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			return nil, fmt.Errorf("a job is named %s", name)
		}
		id := strings.ToUpper(parts[0][:1]) + parts[0][1:] + "/" + parts[1] + "/" + parts[2]
		if out[id] == nil {
			out[id] = map[string]any{}
		}
		out[id][name] = job
	}
	return out, nil
}

var (
	operatorCerts = regexp.MustCompile(`^/etc/prometheus/certs/([01])_([^_]*)_([^_]*)_(.*)$`)
	notFileName   = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// plain returns a value with texts in place of numbers, and with the operator's paths of certificates in agentry's
// spelling.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			if list, isList := item.([]any); !isList || len(list) > 0 || k != "targets" { // no targets are none
				out[k] = plain(item)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, plain(item))
		}
		return out
	case string:
		if m := operatorCerts.FindStringSubmatch(v); m != nil {
			kind := "secrets"
			if m[1] == "1" {
				kind = "configMaps"
			}
			return "/var/lib/grafana-agent/secrets/" +
				notFileName.ReplaceAllString("/"+kind+"/"+m[2]+"/"+m[3]+"/"+m[4], "_")
		}
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return v
}
