package prometheus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtime/agent"
	"github.com/agentry-dev/agentry/generator/runtime/alloy"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/test/fixtures"
	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// selfScraped is a target that an integration scrapes itself, and how.
type selfScraped struct {
	to       string // the label of the instance that gets the samples, as Alloy writes it
	labels   labels.Labels
	timing   string
	rules    string // for samples
	inferred bool   // the agent makes the label instance of the settings
}

// equal compares two targets. What the agent infers is not known here.
func (s selfScraped) equal(other selfScraped) bool {
	a, b := s.labels, other.labels
	if s.inferred {
		a, b = labels.NewBuilder(a).Del("instance").Labels(), labels.NewBuilder(b).Del("instance").Labels()
	}
	return labels.Equal(a, b) && s.to == other.to && s.timing == other.timing && s.rules == other.rules
}

// TestAlloyScrapesTheSameIntegrations compares what integrations scrape themselves, in pods of both kinds: the labels of
// their targets, interval, timeout, rules for samples and who gets these. Both are read from what is printed.
func TestAlloyScrapesTheSameIntegrations(t *testing.T) {
	commonconfig.MarshalSecretValue = true
	defer func() { commonconfig.MarshalSecretValue = false }()
	corpus, err := fixtures.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	compared, known := 0, 0
	for _, seed := range corpus.Seeds {
		text, err := fixtures.Encode(seed.Clone())
		if err != nil || !strings.Contains(text, "autoscrape") {
			continue // some hold bytes that are no text, on purpose
		}
		for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
			w := alloyFixture{seed.Name, text, mode, secretref.Plaintext}
			for _, pods := range []string{"-integrations-ds-config", "-integrations-deploy-config"} {
				static, staticErrors := w.renderPods(t, agent.Runtime(), pods)
				native, nativeErrors := w.renderPods(t, alloy.Runtime(), pods)
				if fmt.Sprint(staticErrors) != fmt.Sprint(nativeErrors) {
					continue // Alloy lacks one of them
				}
				for unit, text := range static {
					want := agentsOwn(t, text)
					for _, one := range want {
						compared++
						if !one.inferred {
							known++
						}
					}
					for _, problem := range unlike(want, alloysOwn(t, native[unit])) {
						t.Errorf("%s: %s: %s: %s", w.name, unit, pods, problem)
					}
				}
			}
		}
	}
	t.Logf("%d targets, %d with a known instance", compared, known)
	if compared < 20 || known < 10 {
		t.Errorf("too few were compared: %d targets, %d with a known instance", compared, known)
	}
}

// unlike returns what is scraped in one program only.
func unlike(want, got []selfScraped) (out []string) {
	for _, one := range want {
		at := slices.IndexFunc(got, one.equal)
		if at < 0 {
			out = append(out, fmt.Sprintf("Alloy does not scrape %+v:\n%+v", one, got))
			continue
		}
		got = slices.Delete(got, at, at+1)
	}
	for _, one := range got {
		out = append(out, fmt.Sprintf("the agent does not scrape %+v", one))
	}
	return out
}

// TestMutationsOfIntegrationsAreFound changes each line by which the targets of exporters get their labels, or by which they are scraped.
func TestMutationsOfIntegrationsAreFound(t *testing.T) {
	corpus, err := fixtures.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	var want []selfScraped
	var good string
	for _, seed := range corpus.Seeds {
		if text, err := fixtures.Encode(seed.Clone()); err == nil && strings.HasPrefix(seed.Name, "alloy-integrations.txtar") {
			w := alloyFixture{seed.Name, text, manifest.Current, secretref.Plaintext}
			static, _ := w.renderPods(t, agent.Runtime(), "-integrations-ds-config")
			native, _ := w.renderPods(t, alloy.Runtime(), "-integrations-ds-config")
			want, good = agentsOwn(t, static["m/a"]), native["m/a"]
		}
	}
	if len(want) == 0 || len(unlike(want, alloysOwn(t, good))) > 0 {
		t.Fatalf("%d targets: %v", len(want), unlike(want, alloysOwn(t, good)))
	}
	changed := 0
	_, rules, _ := strings.Cut(good, "prometheus.scrape ")
	for line := range strings.Lines(rules) {
		name, _, isAttr := strings.Cut(strings.TrimSpace(line), " = ")
		var mutated string
		switch strings.TrimSpace(name) {
		case "replacement", "scrape_timeout":
			mutated = regexp.MustCompile(`= .*`).ReplaceAllString(line, `= "7s"`)
		case "target_label":
			mutated = strings.Replace(line, `= "`, `= "x`, 1)
		}
		if !isAttr || mutated == "" {
			continue
		}
		changed++
		if len(unlike(want, alloysOwn(t, strings.Replace(good, line, mutated, 1)))) == 0 {
			t.Errorf("not found: %s", mutated)
		}
	}
	if changed < 6 {
		t.Errorf("only %d lines were changed", changed)
	}
}

// oldNames are those of integrations whose label job has another name, from the catalogue of the agent v0.44.8.
var oldNames = map[string]string{
	"azure": "azure_exporter", "cloudwatch": "cloudwatch_exporter", "consul": "consul_exporter", "dnsmasq": "dnsmasq_exporter",
	"elasticsearch": "elasticsearch_exporter", "gcp": "gcp_exporter", "github": "github_exporter", "kafka": "kafka_exporter",
	"memcached": "memcached_exporter", "mongodb": "mongodb_exporter", "mysql": "mysqld_exporter", "postgres": "postgres_exporter",
	"process": "process_exporter", "redis": "redis_exporter", "statsd": "statsd_exporter", "windows": "windows_exporter",
}

// ofHost are integrations whose instance is that of the agent, native those whose label job can be replaced, and ofTargets those that
// ask targets of their own, which are compared where IntegrationMonitors collect them.
var (
	ofHost    = []string{"agent", "cadvisor", "node_exporter", "process", "statsd", "windows"}
	native    = []string{"agent", "apache_http", "blackbox", "snmp"}
	ofTargets = []string{"blackbox", "snmp"}
)

// agentsOwn returns what the integrations of an agent's configuration scrape themselves.
func agentsOwn(t *testing.T, text string) (out []selfScraped) {
	t.Helper()
	env := podEnv("0")
	text = agentsText(t, text, env)
	var c struct {
		Metrics      struct{ Global map[string]any }
		Integrations map[string]any
	}
	if err := yaml.Unmarshal(withTexts(t, text), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	global := map[string]any{}
	for _, name := range []string{"scrape_interval", "scrape_timeout"} {
		if v, ok := c.Metrics.Global[name]; ok {
			global[name] = v
		}
	}
	for key, list := range c.Integrations {
		name, isList := strings.CutSuffix(key, "_configs")
		if !isList || slices.Contains(ofTargets, name) {
			continue
		}
		for _, item := range list.([]any) {
			if one, scrapes := agentsIntegration(t, name, item.(map[string]any), global); scrapes {
				out = append(out, one)
			}
		}
	}
	return out
}

// agentsIntegration returns what an integration scrapes itself, if it does.
func agentsIntegration(t *testing.T, name string, config, global map[string]any) (out selfScraped, scrapes bool) {
	t.Helper()
	auto, _ := config["autoscrape"].(map[string]any)
	if auto["enable"] != true {
		return out, false
	}
	host := podEnv("0")["HOSTNAME"] + ":8080"
	job := "integrations/" + name
	if old, ok := oldNames[name]; ok {
		job = "integrations/" + old
	}
	instance, isSet := config["instance"].(string)
	if !isSet {
		instance, out.inferred = host, !slices.Contains(ofHost, name)
	}
	target := model.LabelSet{
		"instance": model.LabelValue(instance), "agent_hostname": model.LabelValue(host), "job": model.LabelValue(job),
		"__meta_agent_integration_name": model.LabelValue(name), "__meta_agent_integration_instance": model.LabelValue(instance), "__meta_agent_integration_autoscrape": "1",
	}
	extra, _ := config["extra_labels"].(map[string]any)
	for label, value := range extra {
		if label != "job" || slices.Contains(native, name) {
			target[model.LabelName(label)] = model.LabelValue(fmt.Sprint(value))
		}
	}
	target["__address__"], target["__metrics_path__"] = "agent.internal:12345", "/metrics"
	settings := map[string]any{"job_name": "x"}
	for _, field := range []string{"scrape_interval", "scrape_timeout", "relabel_configs", "metric_relabel_configs"} {
		if v, ok := auto[field]; ok {
			settings[field] = v
		}
	}
	loaded := loadConfig(t, map[string]any{"global": global, "scrape_configs": []any{settings}}).ScrapeConfigs[0]
	visible, _, interval, timeout := agentsTarget(loaded, target)
	to, _ := auto["metrics_instance"].(string)
	out.to = strings.NewReplacer("/", "__", "-", "_", ".", "_D_").Replace(to)
	out.labels, out.timing, out.rules = visible, interval+" "+timeout, asYAML(t, loaded.MetricRelabelConfigs)
	return out, !visible.IsEmpty()
}

// alloysOwn returns what the exporters of a configuration of Alloy are scraped for in their own pod.
func alloysOwn(t *testing.T, text string) (out []selfScraped) {
	t.Helper()
	env := podEnv("0")
	text = replaceVariables(text, env)
	file, err := alloycheck.Parse([]byte(text), env)
	r := alloyReader{t, file, text}
	if err != nil {
		r.wrong("%v", err)
	}
	for _, id := range file.IDs {
		b := file.Components[id]
		if b.Name != "prometheus.scrape" {
			continue
		}
		to, rules := r.receivers(b)
		for _, ref := range flat(b.Attrs["targets"]) {
			exporter, chain := r.exporter(ref)
			if name := strings.TrimPrefix(exporter.Name, "prometheus.exporter."); slices.Contains(ofTargets, name) {
				continue
			}
			if one := r.ownTarget(b, exporter, chain, rules); !one.labels.IsEmpty() {
				one.to = to
				out = append(out, one)
			}
		}
	}
	return out
}

// exporter returns the exporter that gives targets, and the rules that they pass, in their order.
func (r alloyReader) exporter(ref alloycheck.Ref) (b *alloycheck.Block, rules []any) {
	if !strings.HasSuffix(string(ref), ".output") {
		return r.component(ref, "targets"), nil
	}
	endpoint := r.component(ref, "output")
	from := flat(endpoint.Attrs["targets"])
	if len(from) != 1 {
		r.wrong("%s has targets of %d exporters", ref, len(from))
	}
	b, rules = r.exporter(from[0])
	own, _ := r.fields(endpoint)["relabel_configs"].([]any)
	return b, append(rules, own...)
}

// ownTarget returns the target of an exporter after all rules.
func (r alloyReader) ownTarget(b, exporter *alloycheck.Block, chain, rules []any) (out selfScraped) {
	settings := r.fields(b, "targets", "forward_to")
	settings["job_name"] = "prometheus.scrape." + b.Label
	settings["relabel_configs"], settings["metric_relabel_configs"] = chain, rules
	loaded := loadConfig(r.T, map[string]any{"scrape_configs": []any{settings}}).ScrapeConfigs[0]
	path := "/api/v0/component/" + exporter.Name + "." + exporter.Label + "/metrics"
	l := labels.NewBuilder(labels.FromMap(map[string]string{
		"__address__": "alloy.internal:12345", "__metrics_path__": path,
		"job": "integrations/" + strings.TrimPrefix(exporter.Name, "prometheus.exporter."), "instance": "Alloy's own",
	}))
	if !relabel.ProcessBuilder(l, loaded.RelabelConfigs...) {
		return out
	}
	visible, url, interval, timeout := finish(l.Labels(), *loaded)
	if !strings.HasSuffix(url, path) && !visible.IsEmpty() {
		r.wrong("%s is asked at %s", exporter.Label, url)
	}
	out.labels, out.timing, out.rules = visible, interval+" "+timeout, asYAML(r.T, loaded.MetricRelabelConfigs)
	return out
}
