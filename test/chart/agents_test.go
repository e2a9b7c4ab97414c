package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// agentScenarios are scenarios of the generator with what watches agents, with the names that their runtime gives to
// the agent's metrics.
func agentScenarios() map[string]*strings.Replacer {
	return map[string]*strings.Replacer{
		"self-monitoring-agent": strings.NewReplacer(),
		"self-monitoring-alloy": strings.NewReplacer(
			"agent_config_last_load", "alloy_config_last_load", "agent_wal_", "prometheus_remote_write_wal_",
			"promtail_", "loki_write_",
			"agent_metrics_instance_abnormal_exits_total", "prometheus_remote_write_wal_corruptions_total"),
	}
}

// rendered reads a file that a scenario renders. Tests of the generator hold it to what is rendered.
func rendered(t *testing.T, scenario, file string, into any) {
	t.Helper()
	_, rest, found := strings.Cut(read(t, filepath.Join(root, "generator", "testdata", scenario+".txtar")),
		"-- out/m/a/"+file+" --\n")
	if !found {
		t.Fatalf("%s renders no %s", scenario, file)
	}
	text, _, _ := strings.Cut(rest, "\n-- ")
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// TestAgentAlerts plays series to the alerts about agents, as their tests in testdata say, with promtool.
func TestAgentAlerts(t *testing.T) {
	for scenario, names := range agentScenarios() {
		t.Run(scenario, func(t *testing.T) {
			var rule monitoringv1.PrometheusRule
			rendered(t, scenario, "a.prometheusrule.yaml", &rule)
			tests := names.Replace(read(t, "testdata/alerts-agents.yaml"))
			for _, r := range rule.Spec.Groups[0].Rules {
				if !regexp.MustCompile(`alertname: ` + r.Alert +
					`\n\s+exp_alerts:\n\s+- exp_labels`).MatchString(tests) {
					t.Errorf("no test lets %s fire", r.Alert)
				}
				if !strings.Contains(tests, "alertname: "+r.Alert+", exp_alerts: []") {
					t.Errorf("no test keeps %s from firing", r.Alert)
				}
				if r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
					strings.Contains(r.Annotations["summary"], "$AGENT") {
					t.Errorf("annotations of %s: %v", r.Alert, r.Annotations)
				}
			}
			runPromtool(t, "check", "rules", ruleFile(t, rule.Spec))
			for i := range rule.Spec.Groups[0].Rules {
				rule.Spec.Groups[0].Rules[i].Annotations = nil // tests would have to repeat them
			}
			path := ruleFile(t, rule.Spec)
			file := filepath.Join(filepath.Dir(path), "test.yaml")
			if err := os.WriteFile(file, []byte("rule_files: [rules.yaml]\n"+tests), 0o644); err != nil {
				t.Fatal(err)
			}
			runPromtool(t, "test", "rules", file)
		})
	}
}

// TestAgentDashboard: the expressions of the dashboard parse, and no panel lies on another.
func TestAgentDashboard(t *testing.T) {
	for scenario := range agentScenarios() {
		t.Run(scenario, func(t *testing.T) {
			var shown corev1.ConfigMap
			rendered(t, scenario, "a-dashboard.configmap.yaml", &shown)
			var board dashboard
			if err := json.Unmarshal([]byte(shown.Data["m-a.json"]), &board); err != nil {
				t.Fatal(err)
			}
			if len(board.Panels) < 15 {
				t.Errorf("only %d panels", len(board.Panels))
			}
			checkQueries(t, board.queries(t))
		})
	}
}
