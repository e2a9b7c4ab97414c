package gitsync_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync"
)

// badFault is one thing that is wrong in a case: where it is told, and what is held for it.
// Nothing is for a setting that is optional, and for a new GrafanaAgent: it has no unit yet.
type badFault struct {
	at, object string // line:column code
}

// badCases are the faults of the corpus's cases, each of which breaks all of a GrafanaAgent
// with the operator.
var badCases = map[string][]badFault{
	"bad-additional-scrape-duplicate-job": {{"36:5 duplicate-job", "Secret/sad/extra"}},
	"bad-additional-scrape-not-list":      {{"26:5 invalid-additional-scrape-configs", "Secret/sad/extra"}},
	"bad-additional-scrape-yaml":          {{"25:23 invalid-additional-scrape-configs", "Secret/sad/extra"}},
	"bad-basic-auth-half": {{"29:5 incomplete-basic-auth", "MetricsInstance/sad/rw"},
		{"51:5 incomplete-basic-auth", "ServiceMonitor/sad/half"}},
	"bad-cr-selector-operator":         {{"27:18 invalid-selector", "MetricsInstance/sad/bad"}},
	"bad-duplicate-unique-integration": {{"27:3 unique-integration", "Integration/sad/two"}},
	"bad-durations": {{"9:13 invalid-duration", "GrafanaAgent/sad/agent"},
		{"17:3 invalid-duration", "MetricsInstance/sad/m"},
		{"27:27 invalid-field", "ServiceMonitor/sad/d"}},
	"bad-histogram-bucket":           {{"28:66 invalid-stage", "PodLogs/sad/p"}},
	"bad-integration-missing-secret": {{"19:13 missing-secret", "Secret/sad/nowhere"}},
	"bad-match-stages-not-list":      {{"31:9 invalid-stage", "PodLogs/sad/p"}},
	"bad-match-stages-yaml":          {{"30:24 invalid-embedded-yaml", "PodLogs/sad/p"}},
	"bad-missing-key":                {{"21:7 missing-key", "MetricsInstance/sad/m"}},
	"bad-missing-key-optional":       {{"28:5 optional-missing", ""}},
	"bad-missing-key-unrendered":     {{"29:7 missing-key", "ServiceMonitor/sad/authz"}},
	"bad-missing-secret-inline":      {{"38:7 missing-secret", "Secret/sad/nowhere"}},
	"bad-names":                      {{"6:3 invalid-rendered-object", ""}, {"9:3 invalid-rendered-object", ""}},
	"bad-one-team-breaks-all":        {{"47:27 missing-secret", "Secret/team-b/later"}},
	"bad-scrape-timeout":             {{"26:42 timeout-above-interval", "ServiceMonitor/sad/s"}},
	"bad-secret-key-collision":       {{"25:54 secret-key-collision", "MetricsInstance/a/m"}},
	"bad-target-selector-nil-values": {{"25:33 invalid-selector", "ServiceMonitor/sad/absent"}},
	"bad-two-auth-methods": {{"37:17 auth-conflict", "MetricsInstance/sad/b"},
		{"46:15 auth-conflict", "ServiceMonitor/sad/a"}},
	"bad-types": {{"10:22 invalid-field", "GrafanaAgent/sad/agent"},
		{"36:16 invalid-field", "ServiceMonitor/sad/s"}},
	"bad-unknown-integration": {{"17:3 unknown-integration", "Integration/sad/typo"},
		{"29:3 invalid-field", "Integration/sad/string"}},
}

// TestBadAfterGood commits each bad case of the corpus on top of a good version of it:
// everything good moves, everything bad is held, and each fault is told once.
func TestBadAfterGood(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../test/conformance/operator/bad-*")
	if err != nil || len(paths) != len(badCases) {
		t.Fatalf("%d cases for %d folders: %v", len(badCases), len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			faults, ok := badCases[filepath.Base(path)]
			if !ok {
				t.Fatal("is not in the table")
			}
			badAfterGood(t, readCase(t, path, "good.yaml"), readCase(t, path, "input.yaml"), faults)
		})
	}
}

func badAfterGood(t *testing.T, good, bad string, faults []badFault) {
	l := newLab(t)
	l.pipeline.Spec.Secrets.Policy = secretref.Plaintext
	l.pipeline.Spec.Limits.Deletions = "100%" // a case may rename its only GrafanaAgent
	before := l.input(map[string]string{"in/case.yaml": good})
	l.pipeline.Spec.Compatibility = manifest.Operator
	s := l.syncer()
	if report := l.passOf(s); report.Commit == "" || len(told(report)) > 0 {
		t.Fatalf("the good version is not good: %v", report.Diags)
	}
	l.input(map[string]string{"in/case.yaml": bad})
	report := l.passOf(s)
	var tells, holds []string
	for _, f := range faults {
		tells = append(tells, f.at)
		if f.object != "" {
			holds = append(holds, f.object)
		}
	}
	slices.Sort(holds)
	if diff := cmp.Diff(tells, told(report)); diff != "" {
		t.Errorf("what is told (-want +got):\n%s%v", diff, report.Diags)
	}
	held := map[manifest.ID]bool{}
	var got []string
	for _, h := range report.Held {
		held[h.ID] = true
		got = append(got, h.String())
		if as := h.As.Commit; as != "" && as != before {
			t.Errorf("%s is held as of %s, not %s", h, as, before)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(holds, got); diff != "" {
		t.Errorf("what is held (-want +got):\n%s", diff)
	}
	l.branchIs(mixed(good, bad, held))
	l.input(map[string]string{"in/case.yaml": good})
	if report := l.passOf(s); len(told(report)) > 0 || len(report.Held) > 0 {
		t.Errorf("once it is good again: %v, held %v", report.Diags, report.Held)
	}
}

func readCase(t *testing.T, path, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// told are the places and codes of what is reported, but for what the corpus's small cases
// lack, or have, on purpose.
func told(report *gitsync.Report) []string {
	var out []string
	for _, d := range report.Diags {
		inBoth := []diag.Code{diag.NoDestination, diag.NoLogsClient, diag.NotRendered, diag.SelectedTwice}
		if !slices.Contains(inBoth, d.Code) && d.Severity != diag.Info {
			out = append(out, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
		}
	}
	return out
}

// mixed renders the bad version with the good one's objects in place of those that are held.
func mixed(good, bad string, held map[manifest.ID]bool) *generator.Output {
	parse := func(text string) *manifest.Set {
		return manifest.NewSet(manifest.Parse(manifest.File{Path: "in/case.yaml", Data: []byte(text)},
			manifest.Options{Compatibility: manifest.Operator}))
	}
	standIns := map[manifest.ID]*manifest.Object{}
	for id := range held {
		standIns[id] = parse(good).Get(id)
	}
	return generator.Render(parse(bad).With(standIns),
		generator.Options{Compatibility: manifest.Operator, Secrets: secretref.Plaintext}, nil)
}

// branchIs compares the output branch with the files of a render.
func (l *lab) branchIs(want *generator.Output) {
	l.t.Helper()
	files := l.remote.read("env")
	for _, u := range want.Units {
		for _, f := range u.Files {
			if diff := cmp.Diff(string(f.Data), files[u.Name+"/"+f.Path].text); diff != "" {
				l.t.Errorf("%s/%s (-want +got):\n%s", u.Name, f.Path, diff)
			}
		}
	}
}

// TestADuplicateIsReportedAtTheNewDefinition defines an object a second time, in another file.
func TestADuplicateIsReportedAtTheNewDefinition(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	l.input(map[string]string{"in/copy.yaml": monitor("a", "web", "other"),
		"in/b/web.yaml": monitor("b", "web", "other")})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "unchanged", "b/agent": "changed"})
	if len(report.Diags) != 1 || report.Diags[0].File != "in/copy.yaml" ||
		report.Diags[0].Code != diag.DuplicateObject {
		t.Errorf("told is %v", report.Diags)
	}
	if len(report.Held) != 1 || report.Held[0].Name != "web" {
		t.Errorf("held is %v", report.Held)
	}
}

// TestConsequencesOfAnErrorAreWarnings commits a new instance that is wrong, with an integration that needs
// it, and another that needs nobody.
func TestConsequencesOfAnErrorAreWarnings(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(map[string]string{"in/agent.yaml": strings.Replace(agent("a"), "spec:\n",
		"spec:\n  integrations: {selector: {}}\n", 1)})
	l.pass()
	l.input(map[string]string{
		"in/instance.yaml": "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
			"metadata: {name: new, namespace: a}\nspec: {serviceMonitorSelector: 1}\n",
		"in/redis.yaml": "apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n" +
			"metadata: {name: redis, namespace: a}\n" +
			"spec: {name: redis, type: {}, config: {redis_addr: x, autoscrape: {enable: true, metrics_instance: " +
			"a/new}}}\n",
		"in/mysql.yaml": "apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\n" +
			"metadata: {name: mysql, namespace: a}\n" +
			"spec: {name: mysql, type: {}, config: {data_source_name: \"root@(db:3306)/\"}}\n",
	})
	report := l.pass()
	sees(t, report, unitStates{"a/agent": "changed"})
	if diff := cmp.Diff([]string{"invalid-field"}, codes(report, diag.Error)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"follows-error"}, codes(report, diag.Warning)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if text := l.remote.read("env")["a/agent/agent-integrations-deploy-config.secret.yaml"].text; !strings.Contains(
		text, "mysql") || strings.Contains(text, "redis") {
		t.Error(text)
	}
}
