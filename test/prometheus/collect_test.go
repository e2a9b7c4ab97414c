package prometheus

import (
	"fmt"
	"log/slog"
	"math/rand"
	"strings"
	"testing"

	"github.com/alecthomas/units"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	ours "github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestPredictedTargetsAreThoseThatPrometheusKeeps renders random MetricsIntegrations and IntegrationMonitors, and
// lets Prometheus choose from the targets that the rendered pods would have: what nobody
// collects then is what there is a warning about, and what is collected says so.
func TestPredictedTargetsAreThoseThatPrometheusKeeps(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	collected, lost := 0, 0
	for n := range 150 {
		text := randomObjects(r)
		read := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
		out := generator.Render(manifest.NewSet(read), generator.Options{}, nil)
		warned := map[string]bool{}
		for _, d := range append(read.Diags, out.Diags...) {
			if d.Severity == diag.Error {
				t.Fatalf("set %d: %v\n%s", n, d, text)
			}
			if d.Code == diag.NotCollected {
				warned[d.Object.Namespace+"/"+d.Object.Name] = true
			}
		}
		jobs := jobsOf(t, out)
		for key, target := range targetsOf(t, out) {
			found := false
			for name, job := range jobs {
				series := scraped(t, job, target)
				if series.IsEmpty() {
					continue
				}
				found = true
				if "integrationMonitor/"+series.Get("monitor") != name || series.Get("instance") != key ||
					series.Get("job") != "integrations/redis_exporter" || series.Get("metrics_instance") != "ops/i" {
					t.Fatalf("set %d: %s is scraped as %s", n, key, series)
				}
			}
			if found == warned[key] {
				t.Fatalf("set %d: %s is collected: %t, and there is a warning: %t\n%s", n, key, found, warned[key],
					text)
			}
			if found {
				collected++
			} else {
				lost++
			}
		}
	}
	if collected < 100 || lost < 100 {
		t.Errorf("%d were collected and %d were not: the test says little", collected, lost)
	}
}

func randomObjects(r *rand.Rand) string {
	pick := func(from ...string) string { return from[r.Intn(len(from))] }
	var b strings.Builder
	object := func(kind, namespace, name, labels, spec string) {
		fmt.Fprintf(&b, "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: %s\n"+
			"metadata: {namespace: %s, name: %s, labels: {%s}}\nspec: {%s}\n", kind, namespace, name, labels, spec)
	}
	labels := func() string {
		var out []string
		for _, key := range []string{"app.kubernetes.io/name", "team"} {
			if r.Intn(3) > 0 {
				out = append(out, fmt.Sprintf("%s: %q", key, pick("a", "b", "v1.2", "v1x2", "")))
			}
		}
		return strings.Join(out, ", ")
	}
	object("GrafanaAgent", "ops", "agent", "",
		"serviceAccountName: a, metrics: {instanceSelector: {}, ignoreNamespaceSelectors: "+
			pick("false", "false", "true")+
			", remoteWrite: [{url: http://prometheus}]}, integrations: {selector: {}, namespaceSelector: {}}")
	object("MetricsInstance", "ops", "i", "", "integrationMonitorSelector: {}, integrationMonitorNamespaceSelector: {}")
	for i := range 2 + r.Intn(6) {
		object("MetricsIntegration", pick("ops", "shop", "shop-eu"), fmt.Sprint("x", i), labels(),
			"name: redis, config: {redis_addr: redis:6379}")
	}
	for i := range 1 + r.Intn(2) {
		expression := "{key: " + pick("team", "app.kubernetes.io/name") +
			pick(", operator: Exists", ", operator: DoesNotExist", ", operator: In, values: [v1.2, a]",
				", operator: NotIn, values: [a, \"\"]") + "}"
		selector := pick("", "matchLabels: {team: a}", "matchLabels: {team: v1.2}",
			"matchExpressions: ["+expression+"]", "matchLabels: {team: b}, matchExpressions: ["+expression+"]")
		object("IntegrationMonitor", pick("ops", "shop"), fmt.Sprint("m", i), "",
			"scope: "+pick("own", "own", "all")+", selector: {"+selector+"}, namespaceSelector: "+
				pick("{}", "{any: true}", "{matchNames: [shop]}", "{matchNames: [shop-eu, ops]}"))
	}
	return b.String()
}

// rendered returns a configuration among the output.
func rendered(t *testing.T, out *generator.Output, file string) string {
	t.Helper()
	for _, f := range out.Units[0].Files {
		if f.Path == file {
			return strings.ReplaceAll(agentYAML(t, f.Data), "$(SHARD)", "0")
		}
	}
	t.Fatalf("there is no %s", file)
	return ""
}

// jobsOf returns the jobs of the metrics pods by name, as Prometheus reads them.
func jobsOf(t *testing.T, out *generator.Output) map[string]*config.ScrapeConfig {
	t.Helper()
	var c agentConfig
	if err := yaml.Unmarshal([]byte(rendered(t, out, "agent-config.secret.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	data, err := yaml.Marshal(map[string]any{"scrape_configs": c.Metrics.Configs[0].ScrapeConfigs})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(string(data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string]*config.ScrapeConfig{}
	for _, job := range loaded.ScrapeConfigs {
		jobs[job.JobName] = job
	}
	return jobs
}

// targetsOf returns the targets that the aggregator lists of the integrations pod, by the
// MetricsIntegration's namespace/name.
func targetsOf(t *testing.T, out *generator.Output) map[string]model.LabelSet {
	t.Helper()
	var c struct {
		Integrations struct {
			Redis []struct {
				Instance    string
				ExtraLabels model.LabelSet `json:"extra_labels"`
			} `json:"redis_configs"`
		}
	}
	if err := yaml.Unmarshal([]byte(rendered(t, out, "agent-integrations-deploy-config.secret.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	targets := map[string]model.LabelSet{}
	for _, i := range c.Integrations.Redis {
		targets[i.Instance] = model.LabelSet{
			"__address__":      "10.0.0.1:8080",
			"__metrics_path__": model.LabelValue("/integrations/redis/" + i.Instance + "/metrics"),
			"job":              "integrations/redis_exporter", "instance": model.LabelValue(i.Instance),
			"__meta_agentoperator_grafanaagent_namespace": "ops", "__meta_agentoperator_grafanaagent_name": "agent",
		}.Merge(i.ExtraLabels)
	}
	return targets
}

// TestSizes compares what is accepted as a size with Prometheus's parser.
func TestSizes(t *testing.T) {
	for _, size := range []string{"0", "0B", "1B", "512MB", "1.5KiB", ".5GB", "7EiB", "10", "8EB", "8EiB", "10Mb",
		"1iB", "x10MB", "1e3MB", "-1MB", "1 MB", "9PB", "8191PiB"} {
		limit := monitoringv1.ByteSize(size)
		_, findings := ours.NewBuilder(ours.Settings{}).IntegrationMonitor(
			&v1alpha1.IntegrationMonitor{Spec: v1alpha1.IntegrationMonitorSpec{BodySizeLimit: &limit}}, "i", nil)
		_, err := units.ParseBase2Bytes(size)
		if accepted := len(findings) == 0; accepted && err != nil {
			t.Errorf("%q is accepted, and Prometheus says %v", size, err)
		} else if !accepted && err == nil {
			t.Logf("%q is refused, and Prometheus takes it", size)
		}
	}
}
