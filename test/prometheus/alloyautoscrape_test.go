package prometheus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"sigs.k8s.io/yaml"

	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// selfScraped is a target that an integration scrapes itself, and how.
type selfScraped struct {
	to       string // the label of the instance that gets the samples, as Alloy writes it
	labels   labels.Labels
	params   string // of the URL
	timing   string
	rules    string // for samples
	of       string // the integration, in the agent
	inferred bool   // the agent makes the label instance of the settings
}

func (s selfScraped) String() string {
	return fmt.Sprintf("%s of %s ?%s for %s %s %s", s.labels, s.of, s.params, s.to, s.timing, s.rules)
}

// equal compares two targets. What the agent infers is not known here.
func (s selfScraped) equal(other selfScraped) bool {
	a, b := s.labels, other.labels
	if s.inferred {
		a, b = labels.NewBuilder(a).Del("instance").Labels(), labels.NewBuilder(b).Del("instance").Labels()
	}
	return labels.Equal(a, b) && s.to == other.to && s.params == other.params && s.timing == other.timing &&
		s.rules == other.rules
}

// TestAlloyScrapesTheSameIntegrations compares what integrations scrape themselves, in pods of both kinds: the labels
// of their targets, interval, timeout, rules for samples and who gets these. Both are read from what is printed.
func TestAlloyScrapesTheSameIntegrations(t *testing.T) {
	commonconfig.MarshalSecretValue = true
	defer func() { commonconfig.MarshalSecretValue = false }()
	compared, known := 0, 0
	of := map[string]int{}
	eachIntegrationCase(t, func(t *testing.T, w integrationCase) {
		for _, p := range w.static.pods {
			if !p.runsIntegrations() || p.node != "node-1" {
				continue
			}
			want := agentsOwn(t, p.config)
			for _, one := range want {
				compared++
				of[one.of]++
				if !one.inferred {
					known++
				}
			}
			for _, problem := range unlike(want, alloysOwn(t, w.native.twin(t, p).config)) {
				t.Errorf("%s: %s: %s", w.name, p.name, problem)
			}
		}
	})
	t.Logf("%d targets, %d with a known instance: %v", compared, known, of)
	if *alloyOnly == "" && (compared < 200 || known < 100 || of["blackbox"] < 50 || of["snmp"] < 50) {
		t.Errorf("too few were compared: %d targets, %d with a known instance: %v", compared, known, of)
	}
}

// unlike returns what is scraped in one program only.
func unlike(want, got []selfScraped) (out []string) {
	for _, one := range want {
		at := slices.IndexFunc(got, one.equal)
		if at < 0 {
			out = append(out, fmt.Sprintf("Alloy does not scrape %s:\n%s", one, got))
			continue
		}
		got = slices.Delete(got, at, at+1)
	}
	for _, one := range got {
		out = append(out, fmt.Sprintf("the agent does not scrape %s", one))
	}
	return out
}

// agentsOwn returns what the integrations of an agent's configuration scrape themselves.
func agentsOwn(t *testing.T, text string) (out []selfScraped) {
	t.Helper()
	text = agentsText(t, text, podEnv("0"))
	var c struct {
		Metrics struct{ Global map[string]any }
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
	for _, one := range readIntegrations(t, text) {
		out = append(out, one.own(t, global)...)
	}
	return out
}

// own returns what an integration scrapes itself, if it does.
func (i agentsIntegration) own(t *testing.T, global map[string]any) (out []selfScraped) {
	t.Helper()
	if !i.scrapesItself() {
		return nil
	}
	auto, _ := i.config["autoscrape"].(map[string]any)
	settings := map[string]any{"job_name": "x"}
	for _, field := range []string{"scrape_interval", "scrape_timeout", "relabel_configs", "metric_relabel_configs"} {
		if v, ok := auto[field]; ok {
			settings[field] = v
		}
	}
	loaded := loadConfig(t, map[string]any{"global": global, "scrape_configs": []any{settings}}).ScrapeConfigs[0]
	to, _ := auto["metrics_instance"].(string)
	host := podEnv("0")["HOSTNAME"] + ":8080"
	_, known := i.instance(host)
	for _, target := range i.targets("agent.internal:12345", host) {
		visible, asked, interval, timeout := agentsTarget(loaded, target)
		if visible.IsEmpty() {
			continue
		}
		out = append(out, selfScraped{
			of: i.name,
			to: strings.NewReplacer("/", "__", "-", "_", ".", "_D_").Replace(to), labels: visible,
			params: paramsOf(t, asked), timing: interval + " " + timeout,
			rules: asYAML(t, loaded.MetricRelabelConfigs), inferred: !known,
		})
	}
	return out
}

// alloysOwn returns what the exporters of a configuration of Alloy are scraped for in their own pod.
func alloysOwn(t *testing.T, text string) (out []selfScraped) {
	t.Helper()
	r := newReader(t, text, podEnv("0"))
	for _, id := range r.file.IDs {
		b := r.file.Components[id]
		if b.Name != "prometheus.scrape" {
			continue
		}
		to, rules := r.receivers(b)
		for _, ref := range flat(b.Attrs["targets"]) {
			exporter, chain := r.exporter(ref)
			out = append(out, r.own(b, exporter, chain, rules, to)...)
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

// own returns the targets of an exporter after all rules.
func (r alloyReader) own(b, exporter *alloycheck.Block, chain, rules []any, to string) (out []selfScraped) {
	settings := r.fields(b, "targets", "forward_to")
	settings["job_name"] = "prometheus.scrape." + b.Label
	settings["relabel_configs"], settings["metric_relabel_configs"] = chain, rules
	loaded := loadConfig(r.T, map[string]any{"scrape_configs": []any{settings}}).ScrapeConfigs[0]
	for _, target := range exported(exporter) {
		l := labels.NewBuilder(asLabels(target))
		if !relabel.ProcessBuilder(l, loaded.RelabelConfigs...) {
			continue
		}
		visible, asked, interval, timeout := finish(l.Labels(), *loaded)
		if visible.IsEmpty() {
			continue
		}
		if path := string(target["__metrics_path__"]); !strings.HasSuffix(asked, path) &&
			!strings.Contains(asked, path+"?") {
			r.wrong("%s is asked at %s", exporter.Label, asked)
		}
		out = append(out, selfScraped{to: to, labels: visible, params: paramsOf(r.T, asked),
			timing: interval + " " + timeout, rules: asYAML(r.T, loaded.MetricRelabelConfigs)})
	}
	return out
}
