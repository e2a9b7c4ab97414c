package prometheus

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/http" // http_sd_configs
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/scrape"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	ours "github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
)

// jobOf renders the job of the IntegrationMonitor monitoring/databases and has Prometheus
// load it, in the pod of one shard.
func jobOf(t *testing.T, settings ours.Settings, spec v1alpha1.IntegrationMonitorSpec, shard int) *config.ScrapeConfig {
	t.Helper()
	m := &v1alpha1.IntegrationMonitor{ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "databases"},
		Spec: spec}
	settings.Agent = diag.Object{Kind: "GrafanaAgent", Namespace: "monitoring", Name: "agent"}
	settings.SD, _ = ours.SDAggregator{}.HTTPSD(nil)
	job, findings := ours.NewBuilder(settings).IntegrationMonitor(m, "monitoring/primary", nil)
	for _, f := range findings {
		if f.Severity == diag.Error {
			t.Fatal(f)
		}
	}
	text := agent.Print(
		&model.Config{Metrics: &model.Metrics{
			Configs: []model.Instance{{ScrapeConfigs: []*model.ScrapeConfig{job}}}}}).String()
	_, text, _ = strings.Cut(text, "scrape_configs:\n")
	text = "scrape_configs:\n" + strings.ReplaceAll(text, "$(SHARD)", fmt.Sprint(shard))
	loaded, err := config.Load(text, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	jobs, err := loaded.GetScrapeConfigs()
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	return jobs[0]
}

// scraped returns the labels of a target's series; empty when the target is dropped.
func scraped(t *testing.T, job *config.ScrapeConfig, target prommodel.LabelSet) labels.Labels {
	t.Helper()
	out, err := scrape.PopulateLabels(labels.NewBuilder(labels.EmptyLabels()), job, nil, target)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const metaPrefix = "__meta_agentoperator_integration_cr_"

// targetOf is the target of a MetricsIntegration with labels, as the aggregator lists it.
func targetOf(namespace, name string, own map[string]string) prommodel.LabelSet {
	out := prommodel.LabelSet{
		"__address__": "10.0.0.1:8080", "__metrics_path__": "/integrations/redis/metrics",
		"job": "integrations/redis_exporter", "instance": prommodel.LabelValue(namespace + "/" + name),
		metaPrefix + "namespace": prommodel.LabelValue(namespace), metaPrefix + "name": prommodel.LabelValue(name),
		"__meta_agentoperator_grafanaagent_namespace": "monitoring", "__meta_agentoperator_grafanaagent_name": "agent",
	}
	for key, value := range own {
		label := strings.Map(func(c rune) rune {
			if c == '.' || c == '-' || c == '/' {
				return '_'
			}
			return c
		}, key)
		out[prommodel.LabelName(metaPrefix+"label_"+label)] = prommodel.LabelValue(value)
		out[prommodel.LabelName(metaPrefix+"labelpresent_"+label)] = "true"
	}
	return out
}

// TestSelectorsMeanWhatTheyMeanInKubernetes compares the rendered rules with Kubernetes'
// own evaluation, on random selectors and random labels.
func TestSelectorsMeanWhatTheyMeanInKubernetes(t *testing.T) {
	keys := []string{"app.kubernetes.io/name", "team", "tier", "a-b", "empty"}
	values := []string{"", "a", "b", "ab", "v1.2", "v1x2", "A", "a-b", "a_b", "true"}
	r := rand.New(rand.NewSource(1))
	some := func(from []string, least int) []string {
		out := slices.Clone(from)
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out[:least+r.Intn(3)]
	}
	kept, dropped := 0, 0
	for range 1500 {
		var sel metav1.LabelSelector
		if r.Intn(2) == 0 {
			sel.MatchLabels = map[string]string{}
			for _, key := range some(keys, 0) {
				sel.MatchLabels[key] = values[r.Intn(len(values))]
			}
		}
		for _, key := range some(keys, 0) {
			e := metav1.LabelSelectorRequirement{Key: key,
				Operator: []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}[r.Intn(4)]}
			if e.Operator == "In" || e.Operator == "NotIn" {
				e.Values = some(values, 1)
			}
			sel.MatchExpressions = append(sel.MatchExpressions, e)
		}
		want, err := metav1.LabelSelectorAsSelector(&sel)
		if err != nil {
			t.Fatal(err)
		}
		job := jobOf(t, ours.Settings{}, v1alpha1.IntegrationMonitorSpec{Selector: sel}, 0)
		for range 8 {
			own := map[string]string{}
			for _, key := range some(keys, 0) {
				own[key] = values[r.Intn(len(values))]
			}
			got := !scraped(t, job, targetOf("monitoring", "x", own)).IsEmpty()
			if got != want.Matches(k8slabels.Set(own)) {
				t.Fatalf("selector %s on %v: %t", want, own, got)
			}
			if got {
				kept++
			} else {
				dropped++
			}
		}
	}
	if kept < 1000 || dropped < 1000 {
		t.Errorf("%d targets were kept and %d dropped: the test says little", kept, dropped)
	}
}

func TestNamespaceSelectorsAndScope(t *testing.T) {
	for name, c := range map[string]struct {
		settings ours.Settings
		spec     v1alpha1.IntegrationMonitorSpec
		want     []string
	}{
		"own namespace": {ours.Settings{}, v1alpha1.IntegrationMonitorSpec{}, []string{"monitoring"}},
		"any": {ours.Settings{},
			v1alpha1.IntegrationMonitorSpec{NamespaceSelector: monitoringv1.NamespaceSelector{Any: true}},
			[]string{"a", "ab", "b", "monitoring"}},
		"by name": {ours.Settings{},
			v1alpha1.IntegrationMonitorSpec{NamespaceSelector: monitoringv1.NamespaceSelector{MatchNames: []string{"a",
				"b"}}}, []string{"a", "b"}},
		"any, but ignored": {ours.Settings{IgnoreNamespaceSelectors: true},
			v1alpha1.IntegrationMonitorSpec{NamespaceSelector: monitoringv1.NamespaceSelector{Any: true}},
			[]string{"monitoring"}},
		"of every agent, any": {ours.Settings{},
			v1alpha1.IntegrationMonitorSpec{Scope: "all", NamespaceSelector: monitoringv1.NamespaceSelector{Any: true}},
			[]string{"a", "ab", "b", "monitoring", "of another"}},
	} {
		job := jobOf(t, c.settings, c.spec, 0)
		var got []string
		for _, namespace := range []string{"a", "ab", "b", "monitoring"} {
			if !scraped(t, job, targetOf(namespace, "x", nil)).IsEmpty() {
				got = append(got, namespace)
			}
		}
		foreign := targetOf("monitoring", "x", nil)
		foreign["__meta_agentoperator_grafanaagent_namespace"] = "other"
		if !scraped(t, job, foreign).IsEmpty() {
			got = append(got, "of another")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// group is one element of the SD API's answer.
type group struct {
	Targets []string           `json:"targets"`
	Labels  prommodel.LabelSet `json:"labels"`
}

// answer is what the aggregator makes of a pod's answer: it says whose pod it is.
func answer(t *testing.T, file, owner string) []prommodel.LabelSet {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "sd", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	var groups []group
	if err := json.Unmarshal(data, &groups); err != nil {
		t.Fatal(err)
	}
	var out []prommodel.LabelSet
	for _, g := range groups {
		g.Labels["__address__"] = prommodel.LabelValue(g.Targets[0])
		g.Labels["__meta_agentoperator_grafanaagent_namespace"] = "monitoring"
		g.Labels["__meta_agentoperator_grafanaagent_name"] = prommodel.LabelValue(owner)
		out = append(out, g.Labels)
	}
	return out
}

// TestFinalLabels holds the labels of series to the RFC, on what real agents answered.
func TestFinalLabels(t *testing.T) {
	any := monitoringv1.NamespaceSelector{Any: true}
	for name, c := range map[string]struct {
		settings ours.Settings
		spec     v1alpha1.IntegrationMonitorSpec
		want     []string
	}{
		"own": {ours.Settings{}, v1alpha1.IntegrationMonitorSpec{NamespaceSelector: any}, []string{
			`{agent_hostname="node-1:19600", instance="default/redis-a", job="integrations/redis_exporter", metrics_instance="monitoring/primary", monitor="monitoring/databases"}`,
			`{agent_hostname="node-1:19600", instance="default/redis-b", job="integrations/redis_exporter", metrics_instance="monitoring/primary", monitor="monitoring/databases"}`,
			`{agent_hostname="node-1:19600", instance="monitoring/node", job="integrations/node_exporter", metrics_instance="monitoring/primary", monitor="monitoring/databases", zone="z1"}`,
			`{agent_hostname="node-1:19600", instance="monitoring/self", job="integrations/agent", metrics_instance="monitoring/primary", monitor="monitoring/databases"}`,
		}},
		"all, and rules that set what is fixed": {ours.Settings{EnforcedNamespaceLabel: "tenant"},
			v1alpha1.IntegrationMonitorSpec{
				Scope:        "all",
				Selector:     metav1.LabelSelector{MatchLabels: map[string]string{"team": "infra"}},
				TargetLabels: []string{"team"},
				RelabelConfigs: []v1alpha1.RelabelConfig{
					{TargetLabel: "job", Replacement: new("mine")}, {TargetLabel: "instance", Replacement: new("mine")},
					{TargetLabel: "cluster", Replacement: new("mine")},
					{TargetLabel: "monitor", Replacement: new("mine")},
					{TargetLabel: "tenant", Replacement: new("mine")},
					{TargetLabel: "zone", Replacement: new("")},
				},
			}, []string{
				`{agent_hostname="node-1:19600", cluster="monitoring/agent", instance="monitoring/node", job="integrations/node_exporter", metrics_instance="monitoring/primary", monitor="monitoring/databases", team="infra", tenant="monitoring"}`,
				`{agent_hostname="node-1:19600", cluster="monitoring/other", instance="monitoring/node", job="integrations/node_exporter", metrics_instance="monitoring/primary", monitor="monitoring/databases", team="infra", tenant="monitoring"}`,
			}},
	} {
		job := jobOf(t, c.settings, c.spec, 0)
		var got []string
		targets := slices.Concat(answer(t, "pod.json", "agent"), answer(t, "pod.json", "other"))
		for _, target := range append(targets,
			prommodel.LabelSet{"__address__": "10.0.0.1:80", "job": "integrations/rfc2"}) {
			if all := scraped(t, job, target); !all.IsEmpty() {
				got = append(got, all.MatchLabels(false, slices.DeleteFunc(names(all), isSeries)...).String())
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

func names(all labels.Labels) (out []string) {
	all.Range(func(l labels.Label) { out = append(out, l.Name) })
	return out
}

// isSeries reports whether a label of a target is one of its series too.
func isSeries(name string) bool { return !strings.HasPrefix(name, "__") }

// TestHowTargetsAreReached holds the address, path, parameters and scheme of targets.
func TestHowTargetsAreReached(t *testing.T) {
	var blackbox prommodel.LabelSet
	for _, target := range answer(t, "multi-target.json", "agent") {
		if target["__param_module"] == "tcp_connect" {
			blackbox = target
		}
	}
	maps.Copy(blackbox, prommodel.LabelSet{metaPrefix + "namespace": "monitoring", "__scheme__": "http"})
	for scheme, want := range map[string]string{"": "http", "https": "https", "HTTPS": "https"} {
		job := jobOf(t, ours.Settings{}, v1alpha1.IntegrationMonitorSpec{Scheme: scheme}, 0)
		got := scraped(t, job, blackbox)
		url := got.Get("__scheme__") + "://" + got.Get("__address__") + got.Get("__metrics_path__") + "?target=" +
			got.Get("__param_target")
		if url != want+"://127.0.0.1:20670/integrations/blackbox/metrics?target=127.0.0.1:2" ||
			got.Get("blackbox_target") != "127.0.0.1:2" || got.Get("instance") != "monitoring/bb" {
			t.Errorf("scheme %q: %s, %s", scheme, url, got)
		}
	}
	delete(blackbox, "__scheme__")
	if got := scraped(t, jobOf(t, ours.Settings{}, v1alpha1.IntegrationMonitorSpec{}, 0),
		blackbox).Get("__scheme__"); got != "http" {
		t.Errorf("the scheme is %q by default", got)
	}
}

// TestShardsShareTheTargetsOfAPod holds that each target has one shard, and that one pod's
// targets do not all have the same.
func TestShardsShareTheTargetsOfAPod(t *testing.T) {
	const shards = 3
	per := map[int]int{}
	for i := range 60 {
		target := targetOf("monitoring", "x", nil)
		target["__metrics_path__"] = prommodel.LabelValue(fmt.Sprintf("/integrations/redis/%d/metrics", i))
		found := 0
		for shard := range shards {
			if !scraped(t, jobOf(t, ours.Settings{Shards: shards}, v1alpha1.IntegrationMonitorSpec{}, shard),
				target).IsEmpty() {
				found++
				per[shard]++
			}
		}
		if found != 1 {
			t.Errorf("target %d has %d shards", i, found)
		}
	}
	if len(per) != shards {
		t.Errorf("the shards have %v targets", per)
	}
}
