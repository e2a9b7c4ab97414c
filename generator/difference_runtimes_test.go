package generator_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/difference"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestEditsMeanTheSameToBothRuntimes edits fixtures at random: what happens to series, lines and targets is told in the
// same words, whichever program runs.
func TestEditsMeanTheSameToBothRuntimes(t *testing.T) {
	compared := 0
	for seed := range int64(share(120 * seeds)) {
		w := newFixture(seed)
		var before [2]*generator.Output
		for range 6 {
			edit := w.edit()
			var after [2]*generator.Output
			for i, program := range generator.Runtimes() {
				after[i] = renderAll(w.parse(), generator.Options{Runtimes: runtimes.Choice{Default: program}})
			}
			if before[0] != nil && errorsIn(before[0]) == errorsIn(before[1]) &&
				errorsIn(after[0]) == errorsIn(after[1]) {
				agent, alloy := told(before[0], after[0]), told(before[1], after[1])
				compared += len(agent)
				if seed < int64(share(5*seeds)) {
					name := fmt.Sprintf("seed %d, %s, alloy", seed, edit)
					pairs := difference.Match(manifests(before[1]), manifests(after[1]))
					texts := slices.Clone(pairs) // as an output branch has them
					for i := range texts {
						texts[i].Before, texts[i].After = textOf(texts[i].Before), textOf(texts[i].After)
					}
					holdComplete(t, name, pairs, secretValues(w.parse()))
					holdComplete(t, name+" as texts", texts, secretValues(w.parse()))
				}
				if !slices.Equal(agent, alloy) {
					t.Errorf("seed %d, %s:\nagent %q\nalloy %q", seed, edit, agent, alloy)
				}
			}
			before = after
		}
	}
	if compared < share(100) {
		t.Errorf("only %d consequences were compared", compared)
	}
}

// TestJobsThatAreNotMadeChangeNothing edits fixtures and monitors at random: a difference of jobs that are only made
// where values differ is the same as one in which all are read from the agent's text.
func TestJobsThatAreNotMadeChangeNothing(t *testing.T) {
	options := generator.Options{Secrets: secretref.Plaintext}
	jobs, changed := 0, 0
	for seed := range int64(share(50 * seeds)) {
		w := newFixture(seed)
		before := manifests(renderAll(w.parse(), options))
		for range 6 {
			edit := w.edit()
			after := manifests(renderAll(w.parse(), options))
			c, n := asTexts(t, fmt.Sprintf("seed %d, %s", seed, edit), before, after)
			jobs, changed, before = jobs+c, changed+n, after
		}
	}
	agent, monitors := fleet(10)
	render := func() []difference.Manifest {
		return manifests(generator.Render(loadAll(append([]manifest.File{agent}, monitors...)), options, nil))
	}
	random, before := rand.New(rand.NewSource(1)), render()
	for i := range share(150) {
		edit := monitorEdits()[random.Intn(len(monitorEdits()))]
		m := &monitors[random.Intn(len(monitors))]
		m.Data = []byte(edit.Replace(string(m.Data)))
		after := render()
		c, n := asTexts(t, fmt.Sprintf("edit %d of %s", i, m.Path), before, after)
		jobs, changed, before = jobs+c, changed+n, after
	}
	if jobs < share(2000) || changed < share(150) {
		t.Errorf("only %d jobs were compared, and %d objects changed", jobs, changed)
	}
}

// monitorEdits are edits of the monitors of a fleet. Made twice, they change nothing.
func monitorEdits() (out []*strings.Replacer) {
	for _, pair := range [][2]string{
		{"name: service-", "name: other-"}, {"- team-", "- other-"}, {"path: /metrics", "path: /other"},
		{"interval: 30s", "interval: 31s"},
		{"Verify: true", "Verify: false"}, {"action: drop", "action: keep"}, {"regex: go_", "regex: other_"},
		{"targetLabel: node", "targetLabel: job"},
		{"endpoints:", "sampleLimit: 9\n  endpoints:"}, {"port: admin", "honorLabels: true\n      port: admin"},
	} {
		out = append(out, strings.NewReplacer(pair[1], pair[0], pair[0], pair[1]))
	}
	return out
}

// asTexts compares two renders as they are, as texts, and with a text on one side. It returns how many jobs there are,
// and how many objects change.
func asTexts(t *testing.T, name string, before, after []difference.Manifest) (jobs, changed int) {
	t.Helper()
	texts := func(list []difference.Manifest) []difference.Manifest {
		list = slices.Clone(list)
		for i := range list {
			jobs += strings.Count(string(list[i].Text), "job_name: ")
			list[i].Version = textOf(list[i].Version)
		}
		return list
	}
	got := difference.Compare(difference.Match(before, after))
	for _, want := range []*difference.Difference{
		difference.Compare(difference.Match(texts(before), texts(after))),
		difference.Compare(difference.Match(texts(before), after)),
	} {
		if got.Text() != want.Text() || encoded(t, got) != encoded(t, want) {
			t.Fatalf("%s: values\n%s\ntexts\n%s", name, got.Text(), want.Text())
		}
	}
	return jobs, len(got.Objects)
}

func encoded(t *testing.T, d *difference.Difference) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// errorsIn returns the errors of a render: one program refuses what the other does not.
func errorsIn(out *generator.Output) (all string) {
	for _, d := range out.Diags {
		if d.Severity == diag.Error {
			all += d.String() + "\n"
		}
	}
	return all
}

// told returns the consequences that are not about pods.
func told(before, after *generator.Output) (out []string) {
	for _, c := range generator.Compare(before.Units, after.Units).Consequences {
		switch c.Kind {
		case difference.PodsRestart, difference.PodsReload, difference.SecretsStale, difference.SecretsNeeded,
			difference.Refused:
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s: %s", c.Unit, c.Kind, c.Subject, c.What))
	}
	slices.Sort(out)
	return out
}

// TestChangedTimesChangeNoTargets: another interval or timeout has the same consequences for both programs, also where
// only the texts of a branch are known. In Alloy's text they are rules that set labels.
func TestChangedTimesChangeNoTargets(t *testing.T) {
	for _, program := range generator.Runtimes() {
		for was, edit := range map[string]string{
			"interval: 30s": "interval: 31s", "scrapeTimeout: 10s": "scrapeTimeout: 7s"} {
			var sides [2][]difference.Manifest
			for i, with := range []string{was, edit} {
				agent, monitors := fleet(10)
				monitors[3].Data = []byte(strings.Replace(string(monitors[3].Data), was, with, 1))
				sides[i] = manifests(generator.Render(loadAll(append([]manifest.File{agent}, monitors...)),
					generator.Options{Compatibility: manifest.Operator, Runtimes: runtimes.Choice{Default: program},
						Secrets: secretref.Plaintext}, nil))
			}
			values := difference.Compare(difference.Match(sides[0], sides[1]))
			for _, list := range sides {
				for i := range list {
					list[i].Version = textOf(list[i].Version)
				}
			}
			texts := difference.Compare(difference.Match(sides[0], sides[1]))
			for what, d := range map[string]*difference.Difference{"values": values, "texts": texts} {
				if len(d.Objects) != 1 || len(d.Consequences) != 1 || d.Consequences[0].Kind != difference.PodsReload {
					t.Errorf("%s, %q, %s:\n%s", program.Name, edit, what, d.Text())
				}
			}
		}
	}
}

// TestARuleThatDropsByTimeChangesTargets: a rule that reads the label of an interval decides which targets stay.
func TestARuleThatDropsByTimeChangesTargets(t *testing.T) {
	const was = "sourceLabels: [__meta_kubernetes_pod_node_name]\n          targetLabel: node"
	for _, program := range generator.Runtimes() {
		var sides [2]*generator.Output
		for i, with := range []string{was, "sourceLabels: [__scrape_interval__]\n          regex: 30s\n          action: drop"} {
			agent, monitors := fleet(2)
			monitors[1].Data = []byte(strings.Replace(string(monitors[1].Data), was, with, 1))
			sides[i] = generator.Render(loadAll(append([]manifest.File{agent}, monitors...)),
				generator.Options{Compatibility: manifest.Operator, Runtimes: runtimes.Choice{Default: program},
					Secrets: secretref.Plaintext}, nil)
		}
		d := generator.Compare(sides[0].Units, sides[1].Units)
		if !slices.ContainsFunc(d.Consequences, func(c difference.Consequence) bool {
			return c.Kind == difference.Targets && strings.Contains(c.What, "__scrape_interval__ is 30s")
		}) {
			t.Errorf("%s:\n%s", program.Name, d.Text())
		}
	}
}

// TestDifferenceOfRuntimes renders every case for both programs: no series and no lines end, and nothing is sent
// elsewhere.
func TestDifferenceOfRuntimes(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpus, "*", "input.yaml"))
	if err != nil || len(cases) < 2 {
		t.Fatal(cases, err)
	}
	instances, thorough := 0, sample(cases)
	for _, name := range cases {
		input, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		results := filed([][]byte{input}, 1)
		var sides [2]*generator.Output
		for i, program := range generator.Runtimes() {
			sides[i] = renderAll(results,
				generator.Options{Compatibility: manifest.Operator, Runtimes: runtimes.Choice{Default: program},
					Secrets: secretref.Plaintext})
		}
		complete := slices.Contains(thorough, name)
		name = filepath.Base(filepath.Dir(name))
		if complete {
			holdComplete(t, name, difference.Match(manifests(sides[0]), manifests(sides[1])), secretValues(results))
			holdComplete(t, name+", back", difference.Match(manifests(sides[1]), manifests(sides[0])),
				secretValues(results))
		}
		d := generator.Compare(sides[0].Units, sides[1].Units)
		for _, c := range d.Consequences {
			switch c.Kind {
			case difference.PodsRestart, difference.OwnMetrics, difference.DataLeft, difference.SeriesIdentity:
			case difference.TargetsSame:
				instances++
				if same, all, _ := strings.Cut(strings.TrimSuffix(c.What, " jobs"), " of "); same != all {
					t.Errorf("%s: %+v", name, c)
				}
			default:
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
	if instances < 40 {
		t.Errorf("only %d instances were compared", instances)
	}
}

// TestSameTargetsNoticesEverySetting changes each line of an agent's configuration by which targets are found or
// relabelled.
func TestSameTargetsNoticesEverySetting(t *testing.T) {
	input, err := os.ReadFile(filepath.Join(corpus, "real-sharded-3x2-pvc", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	results := filed([][]byte{input}, 1)
	agent := manifests(renderAll(results, generator.Options{}))
	alloy := manifests(renderAll(results,
		generator.Options{Runtimes: runtimes.Choice{Default: generator.Runtimes()[1]}}))
	same := func() (out []string) {
		for _, c := range difference.Compare(difference.Match(agent, alloy)).Consequences {
			if c.Kind == difference.TargetsSame {
				out = append(out, c.What)
			}
		}
		return out
	}
	if got := same(); !slices.Equal(got, []string{"4 of 4 jobs"}) {
		t.Fatal(got)
	}
	at := slices.IndexFunc(agent, func(m difference.Manifest) bool {
		return m.ID.Kind == "Secret" && strings.Contains(string(m.Text), "agent.yml")
	})
	head, jobs, _ := strings.Cut(string(agent[at].Text), "scrape_configs:")
	lines := strings.SplitAfter("scrape_configs:"+jobs, "\n")
	changed := 0
	for i, line := range lines {
		name, value, isField := strings.Cut(strings.TrimLeft(line, " -"), ": ")
		switch {
		case name == "action", name == "regex", name == "replacement", name == "target_label", name == "role":
		case strings.HasPrefix(strings.TrimSpace(line), "- __"):
			name, value, isField = "", strings.TrimLeft(line, " -"), true
		default:
			isField = false
		}
		if !isField {
			continue
		}
		changed++
		other := slices.Clone(lines)
		other[i] = strings.Replace(line, strings.TrimSpace(value), "other", 1)
		agent[at].Version = difference.Version{Text: []byte(head + strings.Join(other, ""))}
		if got := same(); slices.Equal(got, []string{"4 of 4 jobs"}) {
			t.Errorf("nothing is noticed of %s", other[i])
		}
	}
	if changed < 50 {
		t.Errorf("only %d lines were changed", changed)
	}
}
