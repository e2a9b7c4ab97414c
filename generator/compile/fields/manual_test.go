package fields_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/compile/fields"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/secretref"
)

var update = flag.Bool("update", false, "write the table of the manual")

// TestManualIsUpToDate renders an object with each field for each runtime, and holds the table of docs/compatibility.md
// against what becomes of it.
func TestManualIsUpToDate(t *testing.T) {
	const file, begin, end = "../../../docs/compatibility.md", "<!-- fields: generated -->\n", "<!-- fields: end -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s lacks the marks of the table", file)
	}
	text := table(t)
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+text+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, text); diff != "" {
		t.Errorf("%s is stale, run make generate (-want +got):\n%s", file, diff)
	}
}

// unseen are the fields whose effect is not in what is rendered here, by runtime and the end of their paths.
var unseen = map[string]map[string]string{
	"alloy": {"keepDroppedTargets": noPage, "enforcedKeepDroppedTargets": noPage, "scrapeClasses[].name": rendered},
	"agent": {"scrapeClasses[].name": rendered},
}

const noPage = "no: there is no page with them"

// value is a field that means something else with one of its values.
type value struct {
	fields.Place
	value string
}

// all are the fields of the table.
func all() (out []value) {
	wholes := []string{"RelabelConfig", "ShardingStrategy", "ObjectReference", "ProbeParam", "Filter", "StaticConfig",
		"K8SSelectorConfig"}
	add := func(kind string, of reflect.Type, in func(path string) bool) {
		for _, p := range fields.Places(kind, of, wholes...) {
			if in(p.Path) {
				out = append(out, value{p, ""})
			}
		}
	}
	every := func(string) bool { return true }
	add("ServiceMonitor", reflect.TypeFor[monitoringv1.ServiceMonitorSpec](), every)
	add("PodMonitor", reflect.TypeFor[monitoringv1.PodMonitorSpec](), every)
	add("Probe", reflect.TypeFor[monitoringv1.ProbeSpec](), every)
	add("ScrapeConfig", reflect.TypeFor[promv1alpha1.ScrapeConfigSpec](), every)
	for path, values := range map[string][]string{
		"dnsSDConfigs[].type": {"NS"}, "openstackSDConfigs[].role": {"LoadBalancer"},
		"azureSDConfigs[].authenticationMethod": {"SDK", "WorkloadIdentity"},
	} {
		i := slices.IndexFunc(out, func(v value) bool { return v.Path == path })
		for n, v := range values {
			out = slices.Insert(out, i+1+n, value{out[i].Place, v})
		}
	}
	add("MetricsInstance", reflect.TypeFor[v1alpha1.MetricsInstanceSpec](), func(path string) bool {
		return strings.HasPrefix(path, "remoteWrite") || strings.HasPrefix(path, "scrapeConfig")
	})
	settings := fields.Places("", reflect.TypeFor[v1alpha1.PrometheusSettings](), wholes...)
	add("GrafanaAgent", reflect.TypeFor[v1alpha1.GrafanaAgentSpec](), func(path string) bool {
		return strings.HasPrefix(path, "apiServer") || slices.ContainsFunc(settings, func(p fields.Place) bool {
			return path == "metrics."+p.Path
		})
	})
	return out
}

// table returns the table.
func table(t *testing.T) string {
	agent := generator.Runtimes()[0]
	oldest, err := generator.RuntimesAt("alloy", "v1.8.0", false)
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(t)
	var order []string
	kinds, lacks := map[string][]string{}, 0
	for _, v := range all() {
		silent := strings.Join(strings.Fields(v.Silent), ", ")
		first, second := j.of(v, agent), j.of(v, oldest.Default)
		if second == refused {
			lacks++
			j.notInCatalogue(v)
		}
		modes := "both"
		switch {
		case (v.Fate == fields.Rendered || v.Kind == "ScrapeConfig") && first == rendered && second == rendered:
			continue // it goes without saying
		case v.Fate == fields.Gone:
			modes = "none"
		case v.Fate == fields.Current || v.Kind == "ScrapeConfig":
			modes = "`current`"
		}
		path := v.Path
		switch discovery, field, is := strings.Cut(path, "SDConfigs[]."); {
		case v.Top != "" && first == rendered && second == rendered:
			path = v.Top
		case is && second == refused:
			field, _, _ = strings.Cut(field, ".")
			path, silent = discovery+"SDConfigs[]."+field, ""
		case second == dropped && strings.HasSuffix(path, "tlsConfig.maxVersion"):
			path = "tlsConfig.maxVersion" // wherever it is
		}
		for _, prefix := range []string{"metrics.", "endpoints[].", "podMetricsEndpoints[]."} {
			path = strings.TrimPrefix(path, prefix)
		}
		name := "`" + path + "`"
		if v.value != "" {
			name += " " + v.value
		}
		kind := v.Kind
		if strings.HasPrefix(v.Path, "remoteWrite") {
			kind = "MetricsInstance, GrafanaAgent"
		}
		row := name + "\x00" + strings.Join([]string{modes, first, second, silent}, " | ")
		if kinds[row] == nil {
			order = append(order, row)
		}
		if !slices.Contains(kinds[row], kind) {
			kinds[row] = append(kinds[row], kind)
		}
	}
	if lacks == 0 {
		t.Error("Alloy refuses nothing")
	}
	var b strings.Builder
	b.WriteString("| field | of | modes | agent | Alloy | values that need no warning |\n|---|---|---|---|---|---|\n")
	for _, row := range order {
		name, rest, _ := strings.Cut(row, "\x00")
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, strings.Join(kinds[row], ", "), rest)
	}
	return b.String()
}

// judge renders objects, equal ones once.
type judge struct {
	t      *testing.T
	known  map[string]result
	parsed map[string]manifest.Result
}

func newJudge(t *testing.T) judge {
	return judge{t: t, known: map[string]result{}, parsed: map[string]manifest.Result{}}
}

// result is what a text is rendered to.
type result struct {
	output string
	found  map[string]diag.Diagnostic // by message
}

const (
	rendered = "yes"
	dropped  = "dropped"
	refused  = "refused"
)

var (
	prometheus = regexp.MustCompile(`came with Prometheus ([\d.]+\d)`)
	alloy      = regexp.MustCompile(`which came with (v[\d.]+\d)`)
)

// of returns what a runtime makes of a field.
func (j judge) of(v value, r runtimes.Runtime) string {
	without, with := specs(v.Place, v.value)
	before, after := j.render(v, without, r), j.render(v, with, r)
	where := v.Kind + " " + v.Path + " " + v.value + " under " + r.Name
	out := ""
	for message, d := range after.found {
		isRefusal := d.Code == diag.NeedsNewerPrometheus || d.Code == diag.NotInRuntime
		if _, known := before.found[message]; known && !(isRefusal && before.output == after.output) {
			continue
		}
		fate := dropped
		switch {
		case isRefusal:
			fate = refused
		case d.Severity == diag.Error:
			j.t.Errorf("%s: the sample is wrong: %s", where, d)
			continue
		case d.Code != diag.NotRendered && d.Code != diag.RuntimeDiffers || d.Severity == diag.Info ||
			before.output != after.output:
			continue
		}
		switch since := prometheus.FindStringSubmatch(message); {
		case since != nil:
			out = fate + ": it came with Prometheus " + since[1]
		case alloy.MatchString(message):
			out = "since " + alloy.FindStringSubmatch(message)[1]
		default:
			out = fate
		}
	}
	if out != "" {
		return out
	}
	for end, why := range unseen[r.Name] {
		if strings.HasSuffix("."+v.Path, "."+end) {
			return why
		}
	}
	if before.output == after.output {
		j.t.Errorf("%s: is lost without a word\nwithout: %v\nwith: %v", where, without, with)
	}
	return rendered
}

// render renders an object with a spec for a version of a runtime.
func (j judge) render(v value, spec map[string]any, r runtimes.Runtime) result {
	texts := j.texts(v.Kind, spec)
	key := r.Name + r.VersionLabel + strings.Join(texts, "")
	if out, ok := j.known[key]; ok {
		return out
	}
	var all []manifest.Result
	for _, text := range texts {
		one, ok := j.parsed[text]
		if !ok {
			one = manifest.Parse(manifest.File{Path: "input.yaml", Data: []byte(text)},
				manifest.Options{Compatibility: manifest.Current})
			j.parsed[text] = one
		}
		all = append(all, one)
	}
	set := manifest.NewSet(all...)
	policy := secretref.Reference // needs no Secrets
	if strings.HasSuffix(v.Path, "bearerToken") {
		policy = secretref.Plaintext // the only one that takes a token in clear
	}
	made := generator.Render(set, generator.Options{Compatibility: manifest.Current, Secrets: policy,
		Runtimes: runtimes.Choice{Default: r}}, nil)
	out := result{found: map[string]diag.Diagnostic{}}
	for _, d := range made.Diags {
		out.found[d.Message] = d
	}
	var b strings.Builder
	for _, u := range made.Units {
		for _, f := range u.Files {
			b.Write(f.Data)
		}
	}
	out.output = b.String()
	j.known[key] = out
	return out
}

// texts returns a GrafanaAgent with an instance and monitors, one of which has a spec.
func (j judge) texts(kind string, spec map[string]any) []string {
	specs := map[string]map[string]any{
		"GrafanaAgent": parsed("{metrics: {instanceSelector: {}, remoteWrite: [{url: 'https://w.example.com/push'}], " +
			"scrapeClasses: [{name: c, relabelings: [{targetLabel: class, replacement: c}]}]}}"),
		"MetricsInstance": parsed(
			"{serviceMonitorSelector: {}, podMonitorSelector: {}, probeSelector: {}, scrapeConfigSelector: {}}"),
		"ServiceMonitor": parsed(bases["ServiceMonitor"]),
		"ScrapeConfig":   parsed("{staticConfigs: [{targets: [\"s:1\"]}]}"),
	}
	if kind == "ScrapeConfig" || specs[kind] == nil {
		specs[kind] = map[string]any{}
	}
	specs[kind] = merged(specs[kind], spec).(map[string]any)
	versions := map[string]string{"GrafanaAgent": "monitoring.grafana.com/v1alpha1",
		"MetricsInstance": "monitoring.grafana.com/v1alpha1", "ScrapeConfig": "monitoring.coreos.com/v1alpha1"}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(specs)) {
		version := versions[k]
		if version == "" {
			version = "monitoring.coreos.com/v1"
		}
		one, err := yaml.Marshal(map[string]any{"apiVersion": version, "kind": k,
			"metadata": map[string]any{"name": "f", "namespace": "m"}, "spec": specs[k]})
		if err != nil {
			j.t.Fatal(err)
		}
		out = append(out, string(one))
	}
	return out
}

var words = regexp.MustCompile(`([a-z0-9])([A-Z]+)`)

// notInCatalogue holds that a field which every version of Alloy refuses has no argument of its name in the catalogue.
func (j judge) notInCatalogue(v value) {
	mechanism, field, is := strings.Cut(v.Path, "SDConfigs[].")
	argument := strings.ToLower(words.ReplaceAllString(field, "${1}_$2"))
	if !is || v.value != "" {
		return
	}
	if _, has := catalogue.Get("discovery." + strings.ToLower(mechanism)).Fields[argument]; has {
		j.t.Errorf("%s is refused, and the catalogue has %s", v.Path, argument)
	}
}
