package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// promtool finds Prometheus's own checker: installed, or where make unpacks it.
func promtool(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("promtool"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal("no promtool, and no cache folder for the one that make chart fetches")
	}
	path := filepath.Join(cache, "agentry-test", "prometheus", "usr", "bin", "promtool")
	if _, err := os.Stat(path); err != nil {
		t.Fatal("no promtool: make chart fetches it")
	}
	return path
}

func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(promtool(t), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s subject) rules(t *testing.T, values string) monitoringv1.PrometheusRuleSpec {
	t.Helper()
	return s.rulesOf(t, parse(t, values))
}

func (s subject) rulesOf(t *testing.T, values map[string]any) monitoringv1.PrometheusRuleSpec {
	t.Helper()
	found := of[*monitoringv1.PrometheusRule](s.objects(t, values))
	if len(found) != 1 {
		t.Fatalf("%d PrometheusRules", len(found))
	}
	return found[0].Spec
}

// ruleFile writes the groups of a PrometheusRule as a rule file of Prometheus.
func ruleFile(t *testing.T, groups any) string {
	t.Helper()
	text, err := yaml.Marshal(groups)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAlerts plays series to the alerts, as their tests in testdata say, with promtool.
func TestAlerts(t *testing.T) { eachChart(t, alerts) }

func alerts(t *testing.T, s subject) {
	path := ruleFile(t, s.rules(t, s.alerts))
	tests := "rule_files: [rules.yaml]\n" + read(t, s.alertTests())
	file := filepath.Join(filepath.Dir(path), "test.yaml")
	if err := os.WriteFile(file, []byte(tests), 0o644); err != nil {
		t.Fatal(err)
	}
	runPromtool(t, "check", "rules", path)
	runPromtool(t, "test", "rules", file)
}

// TestAlertsAreTested: each alert fires in a test and does not in another, and has a name in the schema.
func TestAlertsAreTested(t *testing.T) { eachChart(t, alertsAreTested) }

func alertsAreTested(t *testing.T, s subject) {
	tests := read(t, s.alertTests())
	var names []string
	for _, r := range s.rules(t, s.alerts).Groups[0].Rules {
		names = append(names, r.Alert)
		if !regexp.MustCompile(`(?s)alertname: ` + r.Alert + `\n\s+exp_alerts:\n\s+- exp_labels`).MatchString(tests) {
			t.Errorf("no test lets %s fire", r.Alert)
		}
		if !regexp.MustCompile(`(?s)alertname: ` + r.Alert + `\n\s+exp_alerts: \[\]`).MatchString(tests) {
			t.Errorf("no test keeps %s from firing", r.Alert)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
			!strings.HasSuffix(r.Annotations["runbook_url"], "#"+strings.ToLower(r.Alert)) {
			t.Errorf("annotations of %s: %v", r.Alert, r.Annotations)
		}
	}
	with := func(more string) map[string]any {
		values := parse(t, s.alerts)
		maps.Copy(values["metrics"].(map[string]any)["prometheusRule"].(map[string]any), parse(t, more))
		return values
	}
	if _, err := s.tryRender(t, release{}, with("disabled: ["+strings.Join(names, ", ")+"]")); err != nil {
		t.Errorf("the schema does not know each alert: %v", err)
	}
	left := s.rulesOf(t, with("disabled: ["+names[0]+
		"]\nselector: 'job=\"x\"'\nalertLabels: {team: a}")).Groups[0].Rules
	if len(left) != len(names)-1 {
		t.Errorf("%d alerts of %d are left without one", len(left), len(names))
	}
	for _, r := range left {
		kubelet := strings.Contains(r.Expr.StrVal, "kubelet") // It has a selector of its own.
		if r.Labels["team"] != "a" || !kubelet && !strings.Contains(r.Expr.StrVal, `{job="x"`) ||
			strings.Contains(r.Expr.StrVal, "SELECTOR") {
			t.Errorf("%s: labels %v, %s", r.Alert, r.Labels, r.Expr.StrVal)
		}
	}
}

// alertTests is the file with the tests of a chart's alerts.
func (s subject) alertTests() string { return "testdata/alerts-" + s.name + ".yaml" }

func TestKubeletAlerts(t *testing.T) {
	for _, r := range sdAggregator().rules(t, "metrics: {prometheusRule: {enabled: true}}").Groups[0].Rules {
		if strings.Contains(r.Expr.StrVal, "kubelet") {
			t.Errorf("%s without a kubelet Service", r.Alert)
		}
	}
	for _, r := range sdAggregator().rules(t,
		"kubeletService: {enabled: true}\nmetrics: {prometheusRule: {enabled: true, kubeletSelector: 'job=\"y\"'}}").Groups[0].Rules {
		if strings.Contains(r.Expr.StrVal, "kubelet") && !strings.Contains(r.Expr.StrVal, `{job="y"`) {
			t.Errorf("%s: %s", r.Alert, r.Expr.StrVal)
		}
	}
}

func TestReadmeHasEveryAlert(t *testing.T) { eachChart(t, readmeHasEveryAlert) }

func readmeHasEveryAlert(t *testing.T, s subject) {
	var b strings.Builder
	for _, r := range s.rules(t, s.alerts).Groups[0].Rules {
		labels := regexp.MustCompile(`\{\{ *\$(labels\.)?(\w+)[^}]*\}\}`)
		after := "at once"
		if r.For != nil {
			after = "after " + string(*r.For)
		}
		fmt.Fprintf(&b, "\n#### %s\n\n*%s, %s.* %s\n\n%s\n", r.Alert, r.Labels["severity"], after,
			labels.ReplaceAllString(r.Annotations["summary"], "`$2`"), r.Annotations["description"])
	}
	replaceIn(t, s.dir()+"/README.md",
		"<!-- alerts: written by go test -update in test/chart, from files/alerts.yaml -->\n",
		"<!-- end of alerts -->\n", b.String()+"\n")
}

// queries are the expressions of the dashboard, by the title of their panels.
func (s subject) queries(t *testing.T) map[string][]string {
	t.Helper()
	found := of[*corev1.ConfigMap](s.objects(t, parse(t, s.least+"metrics: {dashboard: {enabled: true}}")))
	if len(found) != 1 {
		t.Fatalf("%d ConfigMaps", len(found))
	}
	var board dashboard
	if err := json.Unmarshal([]byte(found[0].Data[s.name+".json"]), &board); err != nil {
		t.Fatal(err)
	}
	return board.queries(t)
}

// dashboard is what the tests read of one for Grafana.
type dashboard struct {
	Panels []struct {
		Title, Type string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr string }
	}
}

// queries are the expressions of a dashboard, by the title of their panels, none of which lies on another.
func (d dashboard) queries(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			out[p.Title] = append(out[p.Title], q.Expr)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks nothing", p.Title)
		}
	}
	return out
}

func TestDashboardQueriesParse(t *testing.T) { eachChart(t, dashboardQueriesParse) }

func dashboardQueriesParse(t *testing.T, s subject) { checkQueries(t, s.queries(t)) }

// checkQueries lets promtool parse expressions.
func checkQueries(t *testing.T, all map[string][]string) {
	t.Helper()
	type rule map[string]string
	var group []rule
	for _, title := range slices.Sorted(maps.Keys(all)) {
		for i, q := range all[title] {
			name := fmt.Sprintf("%s_%d", regexp.MustCompile(`[^a-zA-Z]+`).ReplaceAllString(title, "_"), i)
			group = append(group, rule{"record": name, "expr": strings.ReplaceAll(q, "$__rate_interval", "5m")})
		}
	}
	runPromtool(t, "check", "rules",
		ruleFile(t, map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": group}}}))
}

// TestMetricsExist holds alerts and dashboard to the metrics that the code names.
func TestMetricsExist(t *testing.T) { eachChart(t, metricsExist) }

func metricsExist(t *testing.T, s subject) {
	name := regexp.MustCompile(s.metrics + `[a-z_]+`)
	used := map[string]bool{}
	for _, r := range s.rules(t, s.alerts).Groups[0].Rules {
		for _, m := range name.FindAllString(r.Expr.StrVal, -1) {
			used[m] = true
		}
	}
	for _, qs := range s.queries(t) {
		for _, m := range name.FindAllString(strings.Join(qs, "\n"), -1) {
			used[strings.TrimSuffix(strings.TrimSuffix(m, "_bucket"), "_count")] = true // of a histogram
		}
	}
	known := s.metricsOfCode(t)
	if len(known) == 0 {
		t.Fatal("there are no metrics")
	}
	for m := range used {
		if !known[m] {
			t.Errorf("nothing exposes %s", m)
		}
	}
	if diff := gocmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(used))); diff != "" {
		t.Logf("exposed, but not used (-):\n%s", diff)
	}
}
