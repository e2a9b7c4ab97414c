package prometheus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy"
	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// TestAlloyReadsTheSameLogs compares what the agent and Alloy make of the same LogsInstances and PodLogs, both read
// from what is printed: clients, discovery, stages, positions, and for many discovered targets the path and the labels.
func TestAlloyReadsTheSameLogs(t *testing.T) {
	var counted logsCounts
	eachAlloyFixture(t, func(t *testing.T, w alloyFixture) {
		static, staticErrors := w.renderLogs(t, agent.Runtime())
		native, nativeErrors := w.renderLogs(t, alloy.Runtime())
		same := fmt.Sprint(staticErrors) == fmt.Sprint(nativeErrors)
		if same && !slices.Equal(slices.Sorted(maps.Keys(static)), slices.Sorted(maps.Keys(native))) {
			t.Errorf("%s: the units differ", w.name)
		}
		for unit, text := range static {
			if _, ok := native[unit]; ok && same {
				e := logsEquality{t, w.name + ": " + unit, &counted}
				e.instances(readStaticLogs(t, text, podEnv("0")), readAlloyLogs(t, native[unit], podEnv("0")))
			}
		}
	})
	t.Logf("%+v", counted)
	if counted.clients < 250 || counted.jobs < 120 || counted.stages < 300 || counted.read < 10000 ||
		counted.dropped < 2000 {
		t.Errorf("too few were compared: %+v", counted)
	}
}

type logsCounts struct{ clients, jobs, stages, read, dropped int }

// logsInstance is a LogsInstance in Promtail's words.
type logsInstance struct {
	Clients []map[string]any
	Jobs    map[string]logsJob
	Period  any
	// Positions is the file of the agent with what has been read.
	Positions string
}

// logsJob is one job, whose rules and discovery are as Prometheus reads them.
type logsJob struct {
	rules     []*relabel.Config
	discovery string
	stages    []any
}

// readStaticLogs reads a configuration of the agent. Without clients it does not start an instance.
func readStaticLogs(t *testing.T, text string, env map[string]string) map[string]logsInstance {
	t.Helper()
	var c struct {
		Logs struct {
			Directory string `json:"positions_directory"`
			Configs   []struct {
				Name    string
				Clients []map[string]any
				Target  map[string]any   `json:"target_config"`
				Jobs    []map[string]any `json:"scrape_configs"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(agentsText(t, text, env)), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]logsInstance{}
	for _, i := range c.Logs.Configs {
		if len(i.Clients) == 0 {
			continue
		}
		one := logsInstance{Jobs: map[string]logsJob{}, Period: i.Target["sync_period"],
			Positions: c.Logs.Directory + "/" + i.Name + ".yml"}
		for _, client := range i.Clients {
			delete(client, "name") // for the agent's own metrics
			one.Clients = append(one.Clients, client)
		}
		for _, job := range i.Jobs {
			if job["journal"] != nil {
				continue // no files
			}
			for _, group := range asList(job["static_configs"]) {
				if group := group.(map[string]any); len(asList(group["targets"])) == 0 {
					group["targets"] = []any{"localhost"}
				}
			}
			delete(job, "encoding")
			delete(job, "decompression")
			for _, sd := range asList(job["kubernetes_sd_configs"]) {
				if sd := sd.(map[string]any); sd["role"] == "pod" && sd["selectors"] == nil { // Promtail's own
					sd["selectors"] = []any{map[string]any{"role": "pod", "field": "spec.nodeName=" + env["HOSTNAME"]}}
				}
			}
			stages := asList(job["pipeline_stages"])
			delete(job, "pipeline_stages")
			one.Jobs[job["job_name"].(string)] = newLogsJob(t, job, stages)
		}
		out[i.Name] = one
	}
	return out
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func newLogsJob(t *testing.T, job map[string]any, stages []any) logsJob {
	loaded := loadConfig(t, map[string]any{"scrape_configs": []any{job}}).ScrapeConfigs[0]
	return logsJob{rules: loaded.RelabelConfigs, discovery: asYAML(t, loaded.ServiceDiscoveryConfigs),
		stages: canonicalStages(stages)}
}

// readAlloyLogs reads a configuration of Alloy. It follows lines from where they are sent to back to where they are
// read.
func readAlloyLogs(t *testing.T, text string, env map[string]string) map[string]logsInstance {
	t.Helper()
	for _, name := range secretVariable.FindAllString(text, -1) {
		env[name] = name
	}
	text = replaceVariables(text, env)
	file, err := alloycheck.Parse([]byte(text), env)
	r := alloyReader{t, file, text}
	if err != nil {
		r.wrong("%v", err)
	}
	out := map[string]logsInstance{}
	for _, id := range file.IDs {
		b := file.Components[id]
		if b.Name == "loki.write" {
			name, _, _ := strings.Cut(b.Label, "__1") // the second client
			one := out[name]
			one.Clients = append(one.Clients, r.logsClient(b))
			if one.Jobs == nil {
				one.Jobs = map[string]logsJob{}
			}
			out[name] = one
		}
	}
	for _, id := range file.IDs {
		if b := file.Components[id]; b.Name == "loki.source.file" {
			r.podLogs(out, b)
		}
	}
	return out
}

// podLogs adds the job that a component reads files for to its instance.
func (r alloyReader) podLogs(out map[string]logsInstance, b *alloycheck.Block) {
	to, stages := flat(b.Attrs["forward_to"]), []any(nil)
	if process := r.component(to[0], "receiver"); process.Name == "loki.process" {
		to, stages = flat(process.Attrs["forward_to"]), promtailStages(process.Blocks)
	}
	name := r.component(to[0], "receiver").Label
	one := out[name]
	if len(to) != len(one.Clients) {
		r.wrong("%s sends to %v", b.Label, to)
	}
	match := r.component(flat(b.Attrs["targets"])[0], "targets")
	targets := match.Attrs["path_targets"]
	job := map[string]any{"job_name": "x"}
	if ref, is := targets.(alloycheck.Ref); is && strings.HasPrefix(string(ref), "discovery.relabel.") {
		rules := r.component(ref, "output")
		job["relabel_configs"], targets = r.fields(rules)["relabel_configs"], rules.Attrs["targets"]
	}
	r.discoveries(job, targets)
	one.Period, one.Positions = match.Attrs["sync_period"], fmt.Sprint(b.Attrs["legacy_positions_file"])
	key := strings.TrimPrefix(b.Label, name+"__")
	if _, twice := one.Jobs[key]; twice || key == b.Label {
		r.wrong("%s: a job of %s", b.Label, name)
	}
	one.Jobs[key] = newLogsJob(r.T, job, stages)
	out[name] = one
}

// discoveries adds what targets come from to a job of Promtail.
func (r alloyReader) discoveries(job map[string]any, targets any) {
	switch v := targets.(type) {
	case []any:
		for _, item := range v {
			r.discoveries(job, item)
		}
	case map[string]any:
		address := v["__address__"]
		delete(v, "__address__")
		job["static_configs"] = append(asList(job["static_configs"]),
			map[string]any{"targets": []any{address}, "labels": v})
	case alloycheck.Ref:
		job["kubernetes_sd_configs"] = append(asList(job["kubernetes_sd_configs"]), r.fields(r.component(v, "targets")))
	}
}

// logsClient returns a client in Promtail's words.
func (r alloyReader) logsClient(b *alloycheck.Block) map[string]any {
	out := r.fields(b.All("endpoint")[0])
	rename := func(from string, in map[string]any, to string) {
		if v, ok := out[from]; ok {
			in[to] = v
			delete(out, from)
		}
	}
	rename("batch_wait", out, "batchwait")
	rename("remote_timeout", out, "timeout")
	if size, ok := out["batch_size"].(string); ok {
		delete(out, "batch_size")
		out["batchsize"] = bytesOf(size)
	}
	backoff := map[string]any{}
	rename("min_backoff_period", backoff, "min_period")
	rename("max_backoff_period", backoff, "max_period")
	rename("max_backoff_retries", backoff, "max_retries")
	if len(backoff) > 0 {
		out["backoff_config"] = backoff
	}
	if labels, ok := b.Attrs["external_labels"]; ok {
		out["external_labels"] = labels
	}
	return out
}

// logsEquality compares one configuration.
type logsEquality struct {
	*testing.T
	name    string
	counted *logsCounts
}

// withoutEmpty removes settings without a value: an empty map in one language and no map in the other are the same.
func withoutEmpty(client map[string]any) {
	maps.DeleteFunc(client, func(_ string, v any) bool {
		m, is := v.(map[string]any)
		return is && len(m) == 0
	})
}

func (e logsEquality) instances(static, native map[string]logsInstance) {
	if len(static) != len(native) {
		e.Errorf("%s: %d instances, and %d for Alloy", e.name, len(static), len(native))
	}
	for name, want := range static {
		got := native[alloyLabel(name)]
		e.counted.clients += len(want.Clients)
		for i := range want.Clients {
			loadable(want.Clients[i])
			withoutEmpty(want.Clients[i])
		}
		for i := range got.Clients {
			withoutEmpty(got.Clients[i])
		}
		if diff := cmp.Diff(want.Clients, got.Clients); diff != "" {
			e.Errorf("%s: %s: clients (-agent +alloy):\n%s", e.name, name, diff)
		}
		if len(want.Jobs) != len(got.Jobs) {
			e.Errorf("%s: %s: %d jobs, and %d for Alloy", e.name, name, len(want.Jobs), len(got.Jobs))
		}
		if diff := cmp.Diff([]any{want.Period, want.Positions}, []any{got.Period, got.Positions}); len(want.Jobs) > 0 &&
			diff != "" {
			e.Errorf("%s: %s: (-agent +alloy):\n%s", e.name, name, diff)
		}
		for job := range want.Jobs {
			e.job(name+": "+job, want.Jobs[job], got.Jobs[alloyLabel(job)])
		}
	}
}

// alloyLabel returns the label of a component.
func alloyLabel(name string) string {
	return strings.NewReplacer("/", "__", "-", "_", ".", "_D_", " ", "_X20_", "_", "_X5f_").Replace(name)
}

func (e logsEquality) job(name string, want, got logsJob) {
	e.counted.jobs++
	e.counted.stages += len(want.stages)
	if diff := cmp.Diff(want.discovery, got.discovery); diff != "" {
		e.Errorf("%s: %s: discovery (-agent +alloy):\n%s", e.name, name, diff)
	}
	if diff := cmp.Diff(want.stages, got.stages); diff != "" {
		e.Errorf("%s: %s: stages (-agent +alloy):\n%s", e.name, name, diff)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for _, d := range discoveredTargets(&config.ScrapeConfig{RelabelConfigs: want.rules}, random) {
		for _, host := range []model.LabelValue{"", "node", "another"} {
			d["__meta_kubernetes_pod_node_name"] = host
			path, l := promtailFiles(d, want.rules, true)
			path2, l2 := promtailFiles(d, got.rules, false)
			if path == "" {
				e.counted.dropped++
			} else {
				e.counted.read++
			}
			if path != path2 || path != "" && l != l2 {
				e.Errorf("%s: %s: discovered %v\nagent: %s %s\nalloy: %s %s", e.name, name, d, path, l, path2, l2)
				return
			}
		}
	}
}

// promtailFiles returns the pattern of the files that are read for a target, and the labels of their lines. Promtail
// drops the targets of other hosts, and Alloy has rules for that.
func promtailFiles(discovered model.LabelSet, rules []*relabel.Config, promtail bool) (path, shown string) {
	b := labels.NewBuilder(labels.EmptyLabels())
	for name, value := range discovered {
		b.Set(string(name), string(value))
	}
	if !relabel.ProcessBuilder(b, rules...) || promtail && b.Get("__host__") != "" && b.Get("__host__") != "node" {
		return "", ""
	}
	out := map[string]string{"exclude": b.Get("__path_exclude__")}
	b.Labels().Range(func(l labels.Label) {
		if !strings.HasPrefix(l.Name, "__") {
			out[l.Name] = l.Value
		}
	})
	return b.Get("__path__"), fmt.Sprint(out)
}
