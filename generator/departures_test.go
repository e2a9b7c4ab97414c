package generator_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// shown are the differences from the operator without a conformance case, by how their row in docs/compatibility.md
// begins: the archive in testdata whose expectations show the difference, and the text that shows it. After "no ", the
// text must be nowhere in them.
func shown() map[string][2]string {
	return map[string][2]string{
		"A Secret that a file path refers to": {"monitor-checks",
			"error[missing-secret]: spec.endpoints[0].tlsConfig.cert.secret"},
		"Inlined secrets with":                  {"variables", `client_id: "a\x24{DEFINED}\x24(RELOADED)"`},
		"`additionalScrapeConfigs` are decoded": {"additional-jobs", "version: 1.10\n"},
		"An object of the inputs that has":      {"name-conflicts", "is in the inputs already"},
		"A namespace selector needs": {"namespace-selectors",
			"namespaces without a manifest are assumed to have only the label"},
		"A pull secret may be named twice": {"departures",
			"error[invalid-rendered-object]: spec.imagePullSecrets"},
		"`argocd.argoproj.io/tracking-id`":              {"departures", "no tracking-id"},
		"`ownerReferences` to":                          {"departures", "no ownerReferences"},
		"`${NAME}` and `$(NAME)` in relabelings":        {"dollars", `replacement: "\x24{1}\x24(SHARD)\x24\x24"`},
		"`${NAME}` and `$(NAME)` in fields of monitors": {"departures", `metrics_path: "/\x24{P}"`},
		"A selector value, port or":                     {"departures", "regex: (?:null)"},
		"`$(NAME)` that no container": {"variables",
			"DEFINED is not defined: the config reloader would refuse"},
		"`${NAME}` that no container": {"variables",
			"warning[env-reference]: spec.remoteWrite[2].sigv4.region: UNDEFINED is not defined"},
		"A reload in which only an inlined": {"inlined-secrets", "agentry.dev/inlined-secrets: "},
		"An empty or relative URL":          {"departures", "error[invalid-url]: spec.remoteWrite[0].url"},
		"More than 1000 shards": {"departures",
			"error[invalid-setting]: spec.metrics.shards: 1001"},
		"Two MetricsInstances with equal settings": {"shared-instances", "instance_mode: distinct"},
		"Unnamed `remoteWrite`s":                   {"remote-writes", "name: agentry-0"},
		"`${NAME}` and `$(NAME)` in stages":        {"departures", `replace: "\x24{HOME}"`},
		"Unnamed clients":                          {"logs-checks", "name: agentry-0"},
		"`autoscrape.metrics_instance` and":        {"integrations-checks", "error[instance-not-selected]"},
		"MetricsInstances stand in the order":      {"departures", "configs:\n        - name: m/z\n"},
		"Names of an integration's volumes":        {"departures", "no m-a.dotted-name-files"},
		"`args` of a container in": {"container-arguments",
			"error[missing-arguments]: spec.containers["},
		"`${NAME}` in `config`": {"integrations-checks",
			"warning[env-reference]: spec.config.redis_addr"},
	}
}

var caseName = regexp.MustCompile(
	"`((?:agent|bad|conflict|integration|logs|pm|podlogs|probe|rw|sm|stages|storage)-[a-z0-9-]+)`")

// TestListOfDifferences: each row of the manual about a difference from the operator is shown by a conformance case, in
// which the output is another one or the operator fails, or by the expectations of a scenario. The reverse, that no
// case differs without a row, is tested with the cases.
func TestListOfDifferences(t *testing.T) {
	_, text, _ := strings.Cut(string(read(t, "../docs/compatibility.md")), "## What is different on purpose\n")
	text, _, _ = strings.Cut(text, "\n## ")
	used := map[string]bool{}
	for line := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(line, "| ")
		if !isRow || strings.HasPrefix(row, "the operator |") {
			continue
		}
		cell, _, _ := strings.Cut(row, " | ")
		cases := caseName.FindAllStringSubmatch(cell, -1)
		for _, c := range cases {
			if _, err := os.Stat(filepath.Join(corpus, c[1])); err != nil {
				t.Error(err)
			}
			if !slices.Contains(departures, c[1]) && !strings.HasPrefix(c[1], "bad-") &&
				!strings.HasPrefix(c[1], "conflict-") {
				t.Errorf("the output is the operator's in %s: %s", c[1], cell)
			}
		}
		start := ""
		for known := range shown() {
			if strings.HasPrefix(cell, known) {
				start = known
			}
		}
		used[start] = true
		switch {
		case start == "" && len(cases) == 0:
			t.Errorf("nothing shows the difference: %s", cell)
		case start != "":
			isShown(t, cell, shown()[start])
		}
	}
	for start := range shown() {
		if !used[start] {
			t.Errorf("no row begins with %q", start)
		}
	}
}

func isShown(t *testing.T, cell string, by [2]string) {
	t.Helper()
	archive := txtar.Parse(read(t, "testdata/"+by[0]+".txtar"))
	var expectations strings.Builder
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "in/") {
			expectations.Write(f.Data)
		}
	}
	text, absent := strings.CutPrefix(by[1], "no ")
	if strings.Contains(expectations.String(), text) == absent {
		t.Errorf("testdata/%s.txtar does not show it (%q): %s", by[0], by[1], cell)
	}
}
