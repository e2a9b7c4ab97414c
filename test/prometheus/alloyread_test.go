package prometheus

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// alloyInstance is a MetricsInstance as Alloy reads it.
type alloyInstance struct {
	jobs     map[string]scrapeJob
	writers  []*config.RemoteWriteConfig
	external map[string]any
}

// alloyReader makes jobs of components, in Prometheus' own words: it reads what is printed and knows nothing of how.
type alloyReader struct {
	*testing.T
	file *alloycheck.File
	text string
}

// newReader parses a configuration of Alloy.
func newReader(t *testing.T, text string, env map[string]string) alloyReader {
	t.Helper()
	text = replaceVariables(text, env)
	env = maps.Clone(env)
	for _, name := range secretVariable.FindAllString(text, -1) {
		env[name] = name
	}
	file, err := alloycheck.Parse([]byte(text), env)
	r := alloyReader{t, file, text}
	if err != nil {
		r.wrong("%v", err)
	}
	return r
}

func (r alloyReader) wrong(format string, args ...any) {
	r.Helper()
	r.Fatalf(format+"\n%s", append(args, r.text)...)
}

// readAlloy reads a configuration of Alloy. Instances are by the labels of their components.
func readAlloy(t *testing.T, text string, env map[string]string) map[string]alloyInstance {
	t.Helper()
	r := newReader(t, text, env)
	file := r.file
	out := map[string]alloyInstance{}
	for _, id := range file.IDs {
		b := file.Components[id]
		switch b.Name {
		case "prometheus.remote_write":
			external, _ := b.Attrs["external_labels"].(map[string]any)
			out[b.Label] = alloyInstance{map[string]scrapeJob{}, r.writers(b), external}
		case "prometheus.scrape":
			to, rules := r.receivers(b)
			if out[to].jobs == nil {
				r.wrong("%s sends to %s, which does not write", id, to)
			}
			for _, ref := range flat(b.Attrs["targets"]) {
				job := r.job(b, r.component(ref, "output"), rules)
				if out[to].jobs[job.JobName].ScrapeConfig != nil {
					r.wrong("%s scrapes %s twice", to, job.JobName)
				}
				out[to].jobs[job.JobName] = job
			}
		}
	}
	return out
}

// flat returns references that can be in lists.
func flat(v any) (out []alloycheck.Ref) {
	switch v := v.(type) {
	case alloycheck.Ref:
		return []alloycheck.Ref{v}
	case []any:
		for _, item := range v {
			out = append(out, flat(item)...)
		}
	}
	return out
}

// component returns the component whose export is referred to.
func (r alloyReader) component(ref alloycheck.Ref, export string) *alloycheck.Block {
	id, is := strings.CutSuffix(string(ref), "."+export)
	if !is || r.file.Components[id] == nil {
		r.wrong("%s refers to nothing", ref)
	}
	return r.file.Components[id]
}

// fields returns the attributes and blocks of a block as Prometheus writes them. What a component reads from a file is
// that file.
func (r alloyReader) fields(b *alloycheck.Block, without ...string) map[string]any {
	out := maps.Clone(b.Attrs)
	for _, name := range without {
		delete(out, name)
	}
	if ref, is := out["username"].(alloycheck.Ref); is {
		delete(out, "username")
		out["username_file"] = r.component(ref, "content").Attrs["filename"]
	}
	for _, name := range []string{"ca", "cert", "key"} {
		if pem, is := out[name+"_pem"]; is {
			delete(out, name+"_pem")
			out[name] = pem
		}
	}
	for _, inner := range b.Blocks {
		switch inner.Name {
		case "rule", "write_relabel_config", "selectors", "filter":
			name := map[string]string{"rule": "relabel_configs", "write_relabel_config": "write_relabel_configs",
				"selectors": "selectors", "filter": "filters"}[inner.Name]
			list, _ := out[name].([]any)
			out[name] = append(list, r.fields(inner))
		default:
			out[inner.Name] = r.fields(inner)
		}
	}
	return out
}

func (r alloyReader) writers(b *alloycheck.Block) []*config.RemoteWriteConfig {
	all := []any{}
	for _, e := range b.All("endpoint") {
		all = append(all, r.fields(e, "name"))
	}
	return loadConfig(r.T, map[string]any{"remote_write": all}).RemoteWriteConfigs
}

const reportNames = "up|scrape_duration_seconds|scrape_samples_scraped|scrape_samples_post_metric_relabeling|scrape_series_added"

// receivers returns the writer of a component that scrapes, and the rules that its samples pass on the way. Reports
// pass none.
func (r alloyReader) receivers(b *alloycheck.Block) (writer string, rules []any) {
	to := flat(b.Attrs["forward_to"])
	if len(to) == 1 {
		return r.component(to[0], "receiver").Label, nil
	}
	if len(to) != 2 {
		r.wrong("%s: %v", b.Label, to)
	}
	reports, rest := r.component(to[0], "receiver"), r.component(to[1], "receiver")
	first := func(b *alloycheck.Block, action string) {
		want := map[string]any{"source_labels": []any{"__name__"}, "regex": reportNames, "action": action}
		if len(b.Blocks) == 0 || fmt.Sprint(b.Blocks[0].Attrs) != fmt.Sprint(want) {
			r.wrong("%s does not %s reports first", b.Label, action)
		}
	}
	first(reports, "keep")
	first(rest, "drop")
	for _, rule := range rest.Blocks[1:] {
		rules = append(rules, r.fields(rule))
	}
	a, c := flat(reports.Attrs["forward_to"]), flat(rest.Attrs["forward_to"])
	if len(a) != 1 || len(c) != 1 || a[0] != c[0] || len(reports.Blocks) != 1 {
		r.wrong("%s and %s send to different writers", reports.Label, rest.Label)
	}
	return r.component(a[0], "receiver").Label, rules
}

// job returns a job of a component that scrapes and one that relabels.
func (r alloyReader) job(b, endpoint *alloycheck.Block, rules []any) scrapeJob {
	settings := r.fields(b, "targets", "forward_to")
	clustering, isClustered := settings["clustering"].(map[string]any)
	if delete(settings, "clustering"); isClustered && clustering["enabled"] != true {
		r.wrong("%s has a block clustering that is off", b.Label)
	}
	if fallback, is := settings["scrape_fallback_protocol"]; is { // as Prometheus calls it
		delete(settings, "scrape_fallback_protocol")
		settings["fallback_scrape_protocol"] = fallback
	}
	delete(settings, "honor_metadata") // of Alloy only
	settings["job_name"] = "prometheus.scrape." + b.Label
	settings["metric_relabel_configs"] = rules
	settings["relabel_configs"] = r.fields(endpoint)["relabel_configs"]
	r.discover(settings, endpoint.Attrs["targets"])
	others := takeOthers(settings)
	loaded := loadConfig(r.T, map[string]any{"scrape_configs": []any{settings}}).ScrapeConfigs[0]
	job := *loaded
	job.JobName = jobNameOf(job.RelabelConfigs)
	return scrapeJob{&job, others, isClustered, r.collected(endpoint.Attrs["targets"]),
		func(d model.LabelSet) (labels.Labels, string, string, string) {
			l := labels.NewBuilder(asLabels(d))
			if !relabel.ProcessBuilder(l, loaded.RelabelConfigs...) {
				return labels.EmptyLabels(), "", "", ""
			}
			return finish(l.Labels(), *loaded)
		}}
}

// discover sets the service discoveries of a job: a reference to one, targets that are written out, or a list of such.
func (r alloyReader) discover(settings map[string]any, targets any) {
	add := func(name string, v any) {
		list, _ := settings[name].([]any)
		settings[name] = append(list, v)
	}
	switch targets := targets.(type) {
	case []any:
		for _, item := range targets {
			r.discover(settings, item)
		}
	case map[string]any:
		group := maps.Clone(targets)
		address := group["__address__"]
		delete(group, "__address__")
		add("static_configs", map[string]any{"targets": []any{address}, "labels": group})
	case alloycheck.Ref:
		if strings.HasSuffix(string(targets), ".output") {
			return // of an integration in other pods
		}
		d := r.component(targets, "targets")
		mechanism := strings.TrimPrefix(d.Name, "discovery.")
		add(mechanism+"_sd_configs", inPrometheus(mechanism, r.fields(d)))
	}
}

// collected returns how the integrations that an endpoint selects from are found in other pods: service discoveries
// with rules.
func (r alloyReader) collected(targets any) (out []*config.ScrapeConfig) {
	for _, ref := range flat(targets) {
		if !strings.HasSuffix(string(ref), ".output") {
			continue
		}
		b := r.component(ref, "output")
		settings := map[string]any{"job_name": b.Label, "relabel_configs": r.fields(b)["relabel_configs"]}
		r.discover(settings, b.Attrs["targets"])
		out = append(out, loadConfig(r.T, map[string]any{"scrape_configs": []any{settings}}).ScrapeConfigs...)
	}
	return out
}

func asLabels(set model.LabelSet) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	for name, value := range set {
		b.Set(string(name), string(value))
	}
	return b.Labels()
}

// jobNameOf returns the name that the first rules give to targets.
func jobNameOf(rules []*relabel.Config) string {
	for _, rule := range rules {
		if rule.TargetLabel == "job" {
			return rule.Replacement
		}
	}
	return ""
}
