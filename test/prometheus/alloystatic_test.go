package prometheus

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drone/envsubst/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/scrape"
	yamlv3 "gopkg.in/yaml.v3"
	"sigs.k8s.io/yaml"
)

// podEnv are the environment variables of the pod that both runtimes are in.
func podEnv(shard string) map[string]string {
	return map[string]string{"SHARD": shard, "SHARDS": "2", "POD_NAME": "agent-0", "STATEFULSET_ORDINAL_NUMBER": "0",
		"HOSTNAME":          "node",
		"AGENT_DEPLOY_MODE": "operator", "TOPOLOGY_ZONE": "zone-" + shard, "INZONE_SHARD": shard}
}

// replaceVariables does what the config reloader does. A variable of a Secret has its own name for a value.
func replaceVariables(text string, env map[string]string) string {
	return reloaderVariable.ReplaceAllStringFunc(text, func(ref string) string {
		name := reloaderVariable.FindStringSubmatch(ref)[1]
		if strings.HasPrefix(name, "AGENTRY_") {
			return name
		}
		return env[name]
	})
}

// agentsText returns a configuration as the agent reads it, without variables.
func agentsText(t *testing.T, text string, env map[string]string) string {
	t.Helper()
	text, err := envsubst.Eval(replaceVariables(text, env), func(name string) string {
		if _, err := strconv.Atoi(name); err == nil {
			return "${" + name + "}" // as the agent does
		}
		return env[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// scrapeJob is a job of one runtime with everything that both must have in common.
type scrapeJob struct {
	*config.ScrapeConfig
	// others are its service discoveries besides kubernetes_sd_configs and http_sd_configs, by mechanism.
	others map[string]any
	// clustered means that the pods share the targets among themselves.
	clustered bool
	// collected are the service discoveries, with rules, of the integrations that an IntegrationMonitor selects from in
	// Alloy.
	collected []*config.ScrapeConfig
	// targets returns the targets that are scraped for one that is discovered; the URLs have the parameters.
	targets func(discovered model.LabelSet) (visible labels.Labels, url, interval, timeout string)
}

// staticInstance is a MetricsInstance as the agent reads it.
type staticInstance struct {
	jobs     map[string]scrapeJob
	writers  []*config.RemoteWriteConfig
	external map[string]any
}

// readStatic reads a configuration of the agent.
func readStatic(t *testing.T, text string, env map[string]string) map[string]staticInstance {
	t.Helper()
	text = agentsText(t, text, env)
	var c struct {
		Metrics struct {
			Global  map[string]any
			Configs []struct {
				Name          string
				ScrapeConfigs []any `json:"scrape_configs"`
				RemoteWrite   []any `json:"remote_write"`
			}
		}
	}
	if err := yaml.Unmarshal(withTexts(t, text), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]staticInstance{}
	global, writers, external := c.Metrics.Global, []any(nil), map[string]any(nil)
	if global != nil {
		writers, _ = global["remote_write"].([]any)
		delete(global, "remote_write")
		external, _ = global["external_labels"].(map[string]any)
		delete(global, "external_labels") // Prometheus would expand them once more
		if timeout, ok := global["scrape_timeout"]; ok && global["scrape_interval"] == nil && timeout != "" {
			global["scrape_interval"] = "1m" // the agent takes a longer global timeout, Prometheus does not
		}
	}
	for _, i := range c.Metrics.Configs {
		if len(i.RemoteWrite) == 0 {
			i.RemoteWrite = writers
		}
		others := make([]map[string]any, len(i.ScrapeConfigs))
		for n, job := range i.ScrapeConfigs {
			others[n] = takeOthers(job.(map[string]any))
		}
		one := loadConfig(t, map[string]any{"global": maps.Clone(global), "scrape_configs": i.ScrapeConfigs,
			"remote_write": withAgentsDefaults(i.RemoteWrite)})
		s := staticInstance{map[string]scrapeJob{}, one.RemoteWriteConfigs, external}
		for n, job := range one.ScrapeConfigs {
			s.jobs[job.JobName] = scrapeJob{job, others[n], false, nil,
				func(d model.LabelSet) (labels.Labels, string, string, string) {
					return agentsTarget(job, d)
				}}
		}
		out[i.Name] = s
	}
	return out
}

// withTexts returns YAML with quotes around what the agent reads as texts, whatever it looks like: 1.10 is not a number
// there.
func withTexts(t *testing.T, text string) []byte {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var quote func(n *yamlv3.Node, within bool)
	quote = func(n *yamlv3.Node, within bool) {
		if n.Kind == yamlv3.ScalarNode && within {
			n.Tag, n.Style = "!!str", yamlv3.DoubleQuotedStyle
		}
		for i, child := range n.Content {
			named := n.Kind == yamlv3.MappingNode && i%2 == 1 &&
				slices.Contains([]string{"labels", "params", "regex", "replacement", "job_name", "extra_labels",
					"blackbox_targets", "snmp_targets"}, n.Content[i-1].Value)
			quote(child, within || named)
		}
	}
	quote(&doc, false)
	out, err := yamlv3.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// withAgentsDefaults writes out what the agent's Prometheus sets in another way than that of today.
func withAgentsDefaults(writers []any) (out []any) {
	for _, w := range writers {
		one := map[string]any{"enable_http2": true, "send_exemplars": true}
		for k, v := range w.(map[string]any) {
			one[k] = v
		}
		delete(one, "name") // for the program's own metrics
		queue := map[string]any{"retry_on_http_429": true}
		if given, ok := one["queue_config"].(map[string]any); ok {
			for k, v := range given {
				queue[k] = v
			}
		}
		one["queue_config"] = queue
		out = append(out, one)
	}
	return out
}

// renamed are fields that today's Prometheus calls otherwise, or has no counterpart for what they show.
func renamed(job map[string]any) {
	if v, ok := job["scrape_classic_histograms"]; ok {
		job["always_scrape_classic_histograms"] = v
		delete(job, "scrape_classic_histograms")
	}
	delete(job, "keep_dropped_targets")
}

// loadable removes what Alloy does not have, for which there is a finding. Prometheus would read the expressions ~ and
// null into its own default, for all rules after that: a group means the same.
func loadable(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "max_version")
		if regex := v["regex"]; regex == "~" || regex == "null" {
			v["regex"] = fmt.Sprintf("(?:%s)", regex)
		}
		for _, inner := range v {
			loadable(inner)
		}
	case []any:
		for _, inner := range v {
			loadable(inner)
		}
	}
}

// longTimeout gives jobs the timeout of all jobs, if that is longer than their interval: the agent's Prometheus loads
// that, and shortens it for the jobs that set none.
func longTimeout(c map[string]any) {
	global, _ := c["global"].(map[string]any)
	of := func(settings map[string]any, name string, standard model.Duration) model.Duration {
		text, _ := settings[name].(string)
		if d, err := model.ParseDuration(text); err == nil && d > 0 {
			return d
		}
		return standard
	}
	every := of(global, "scrape_interval", config.DefaultGlobalConfig.ScrapeInterval)
	limit := of(global, "scrape_timeout", 0)
	if limit <= every {
		return
	}
	delete(global, "scrape_timeout")
	jobs, _ := c["scrape_configs"].([]any)
	for _, job := range jobs {
		if settings := job.(map[string]any); of(settings, "scrape_timeout", 0) == 0 {
			settings["scrape_timeout"] = min(limit, of(settings, "scrape_interval", every)).String()
		}
	}
}

// loadConfig loads a configuration with Prometheus' own code.
func loadConfig(t *testing.T, c map[string]any) *config.Config {
	t.Helper()
	if global, ok := c["global"].(map[string]any); ok {
		renamed(global)
	}
	loadable(c)
	jobs, _ := c["scrape_configs"].([]any)
	for _, job := range jobs {
		renamed(job.(map[string]any))
	}
	longTimeout(c)
	data, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(string(data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return loaded
}

// agentsTarget does what the agent's Prometheus 2.48 does with a discovered target: labels, rules, port, instance.
func agentsTarget(job *config.ScrapeConfig, discovered model.LabelSet) (visible labels.Labels,
	url, interval, timeout string) {
	b := labels.NewBuilder(asLabels(discovered))
	for _, l := range [...][2]string{{"job", job.JobName}, {"__scrape_interval__", job.ScrapeInterval.String()},
		{"__scrape_timeout__", job.ScrapeTimeout.String()}, {"__metrics_path__", job.MetricsPath},
		{"__scheme__", job.Scheme}} {
		if b.Get(l[0]) == "" {
			b.Set(l[0], l[1])
		}
	}
	for name, values := range job.Params {
		if len(values) > 0 {
			b.Set("__param_"+name, values[0])
		}
	}
	if !relabel.ProcessBuilder(b, job.RelabelConfigs...) || b.Get("__address__") == "" {
		return labels.EmptyLabels(), "", "", ""
	}
	port := map[string]string{"": ":80", "http": ":80", "https": ":443"}[b.Get("__scheme__")]
	if address := b.Get("__address__"); lacksPort(address) {
		if port == "" {
			return labels.EmptyLabels(), "", "", ""
		}
		b.Set("__address__", address+port)
	}
	after := *job
	after.JobName, after.MetricsPath, after.Scheme = "", "", "" // what a rule removes stays away
	return finish(b.Labels(), after)
}

// lacksPort reports whether an address becomes one that can be split if a port is added.
func lacksPort(address string) bool {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return false
	}
	_, _, err := net.SplitHostPort(address + ":1234")
	return err == nil
}

// finish does what both do after the rules.
func finish(l labels.Labels, job config.ScrapeConfig) (visible labels.Labels, url, interval, timeout string) {
	job.RelabelConfigs = nil
	set := model.LabelSet{}
	l.Range(func(l labels.Label) { set[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
	all, err := scrape.PopulateLabels(labels.NewBuilder(labels.EmptyLabels()), &job, set, nil)
	if err != nil || all.IsEmpty() {
		return labels.EmptyLabels(), "", "", ""
	}
	target := scrape.NewTarget(all, &job, nil, nil)
	return target.Labels(labels.NewBuilder(labels.EmptyLabels())), target.URL().String(),
		all.Get("__scrape_interval__"), all.Get("__scrape_timeout__")
}
