package generator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

const currentCorpus = "../test/conformance/prometheus-operator"

// currentDepartures are the cases in which mode current differs from today's Prometheus Operator on purpose, and why.
var currentDepartures = map[string]string{
	"gl-01-global":                   "a user's external label may replace the one that names the GrafanaAgent",
	"gl-05-retention-gate":           "an agent has no retained shards",
	"gl-19-class-full":               "references of scrape classes are looked up in the GrafanaAgent's namespace",
	"pm-09-attach-and-role-selector": "a portNumber gets the endpoint label",
	"rw-06-queue": "the agent has sample_age_limit, and a written retryOnRateLimit: false is not " +
		"its default",
	"rw-08-gated-3": "V2.0 of the protocol is dropped, so metadata go on being sent",
	"sc-08-azure-gce": "client settings of azureSDConfigs are rendered; the Prometheus Operator loses " +
		"them",
	"sc-17-enforced-namespace": "the enforced namespace rule is also in a ScrapeConfig without relabelings",
	"sc-18-gated": "dnsSDConfigs with the type NS are refused: without it, SRV records would be " +
		"asked for",
	"sc-19-gated-3":             "the same, and no agent has what is newer than Prometheus 2.48",
	"sc-27-discovery-3":         "no agent has what is newer than Prometheus 2.48: these discoveries are refused",
	"sm-23-enforced-limits-old": "every agent has the global limits of Prometheus 2.48",
	"sm-37-protocols":           "a value that says what the agent does anyway needs no warning",
	"sm-40-apiserver":           "references of the API server are looked up in the GrafanaAgent's namespace",
	"sm-42-rejected":            "captures in target labels are accepted, because the agent takes them",
	"sm-46-without-defaults":    "an object without the CRDs' defaults behaves as with them",
}

// TestCurrentConformance compares mode current with what today's Prometheus Operator made of the same inputs. Its
// Prometheus object becomes a GrafanaAgent with a MetricsInstance.
func TestCurrentConformance(t *testing.T) {
	cases, err := os.ReadDir(currentCorpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		name := c.Name()
		t.Run(name, func(t *testing.T) {
			differences := compareCurrent(t, filepath.Join(currentCorpus, name))
			switch _, departs := currentDepartures[name]; {
			case departs && len(differences) == 0:
				t.Error("is listed as different, but equal")
			case !departs && len(differences) > 0:
				t.Errorf("differs from the Prometheus Operator:\n%s", strings.Join(differences, "\n"))
			}
		})
	}
}

// TestCurrentDeparturesAreDocumented holds the list above against the manual.
func TestCurrentDeparturesAreDocumented(t *testing.T) {
	manual := string(read(t, "../docs/compatibility.md"))
	for name := range currentDepartures {
		if !strings.Contains(manual, "`"+name+"`") {
			t.Errorf("docs/compatibility.md does not give the reason for %s", name)
		}
	}
}

// expectation is what the Prometheus Operator made of a case.
type expectation struct {
	Global        map[string]any `json:"global"`
	ScrapeConfigs []any          `json:"scrape_configs"`
	RemoteWrite   []any          `json:"remote_write"`
	Rejected      []struct{ Kind, Object, Reason string }
	Warnings      []string
}

// newerKeys are the keys that the agent's Prometheus does not know. Some cases are of a later one.
var newerKeys = []string{
	"scrape_protocols", "fallback_scrape_protocol", "enable_compression", "native_histogram_min_bucket_factor",
	"convert_classic_histograms_to_nhcb",
	"scrape_native_histograms", "metric_name_validation_scheme", "metric_name_escaping_scheme", "protobuf_message",
	"round_robin_dns", "scrape_failure_log_file",
}

// withoutNewerFields takes out what an agent cannot have: it must be dropped with a warning, or be refused.
func (e *expectation) withoutNewerFields() {
	delete(e.Global, "evaluation_interval")              // an agent evaluates no rules
	delete(e.Global, "always_scrape_classic_histograms") // a GrafanaAgent has no such setting
	if labels, _ := e.Global["external_labels"].(map[string]any); labels != nil && len(labels) == 0 {
		delete(e.Global, "external_labels")
	}
	for _, list := range [][]any{{e.Global}, e.ScrapeConfigs, e.RemoteWrite} {
		for _, item := range list {
			m := item.(map[string]any)
			for _, key := range newerKeys {
				delete(m, key)
			}
			if v, ok := m["always_scrape_classic_histograms"]; ok { // its older name
				m["scrape_classic_histograms"] = v
				delete(m, "always_scrape_classic_histograms")
			}
		}
	}
}

func compareCurrent(t *testing.T, folder string) (differences []string) {
	t.Helper()
	var want expectation
	if err := yaml.Unmarshal(read(t, filepath.Join(folder, "expected.yaml")), &want); err != nil {
		t.Fatal(err)
	}
	out := renderCurrent(t, read(t, filepath.Join(folder, "input.yaml")))
	got := renderedOf(t, out)
	different := func(what string, a, b any) {
		if diff := cmp.Diff(a, b); diff != "" {
			differences = append(differences, what+" (-Prometheus Operator +agentry):\n"+diff)
		}
	}
	want.withoutNewerFields()
	different("global", plain(want.Global), plain(got.global))
	different("scrape_configs", byName(want.ScrapeConfigs), byName(got.jobs))
	different("remote_write", plain(want.RemoteWrite), plain(got.writers))

	var rejected, refused []string
	for _, r := range want.Rejected {
		rejected = append(rejected, r.Kind+"/"+r.Object)
	}
	for _, d := range out.Diags {
		if d.Severity == diag.Error {
			refused = append(refused, d.Object.Kind+"/"+d.Object.Namespace+"/"+d.Object.Name)
		}
	}
	slices.Sort(rejected)
	slices.Sort(refused)
	different("rejected", slices.Compact(rejected), slices.Compact(refused))
	for _, w := range want.Warnings {
		if field := droppedField(w); field != "" && !slices.ContainsFunc(out.Diags, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Problem(), field)
		}) {
			differences = append(differences, "no finding names "+field+": "+w)
		}
	}
	return differences
}

var ignoring = regexp.MustCompile(`^ignoring "(\w+)"`)

// droppedField returns the field that a warning of the Prometheus Operator is about, or "".
func droppedField(warning string) string {
	m := ignoring.FindStringSubmatch(warning)
	if m == nil || m[1] == "sample_age_limit" || m[1] == "keep_dropped_targets" {
		return "" // the agent has it
	}
	words := strings.Split(m[1], "_")
	for i := range words[1:] {
		words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
	}
	field := strings.Join(words, "")
	switch field {
	case "convertClassicHistogramsToNhcb":
		return "convertClassicHistogramsToNHCB"
	case "metricNameValidationScheme":
		return "nameValidationScheme"
	case "metricNameEscapingScheme":
		return "nameEscapingScheme"
	case "useFipsStsEndpoint":
		return "useFIPSSTSEndpoint"
	case "roundRobinDns":
		return "roundRobinDNS"
	}
	return field
}

// renderCurrent renders an input of the Prometheus Operator.
func renderCurrent(t *testing.T, input []byte) *generator.Output {
	t.Helper()
	result := manifest.Parse(manifest.File{Path: "input.yaml", Data: withAgents(t, input)},
		manifest.Options{Compatibility: manifest.Current, UnknownFields: manifest.IgnoreUnknownFields})
	out := generator.Render(manifest.NewSet(result),
		generator.Options{Compatibility: manifest.Current, Secrets: secretref.Plaintext}, nil)
	out.Diags = append(out.Diags, result.Diags...)
	return out
}

// withAgents returns an input whose Prometheus object is turned into agentry's.
func withAgents(t *testing.T, input []byte) []byte {
	t.Helper()
	var docs []string
	for doc := range strings.SplitSeq("\n"+string(input), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if kind, _ := o["kind"].(string); kind != "Prometheus" && kind != "PrometheusAgent" {
			docs = append(docs, doc)
			continue
		}
		for _, made := range fromPrometheus(o) {
			text, err := yaml.Marshal(made)
			if err != nil {
				t.Fatal(err)
			}
			docs = append(docs, string(text))
		}
	}
	return []byte(strings.Join(docs, "\n---\n"))
}

// fromPrometheus returns the GrafanaAgent and the MetricsInstances with the settings of a Prometheus object. Each
// remote write has an instance of its own, so that all are rendered.
func fromPrometheus(o map[string]any) (out []map[string]any) {
	meta := o["metadata"].(map[string]any)
	spec := o["spec"].(map[string]any)
	metrics := map[string]any{
		"metricsExternalLabelName": "prometheus", "replicaExternalLabelName": "prometheus_replica",
		"scrapeInterval": "30s", "instanceSelector": map[string]any{},
	}
	agent := map[string]any{"metrics": metrics}
	instance := map[string]any{}
	var writers []any
	for name, value := range spec {
		switch name {
		case "version", "replicas", "evaluationInterval":
		case "scrapeProtocols", "nameValidationScheme", "nameEscapingScheme", "convertClassicHistogramsToNHCB",
			"scrapeClassicHistograms",
			"scrapeNativeHistograms", "scrapeFailureLogFile": // no agent has them in its global section
		case "prometheusExternalLabelName":
			metrics["metricsExternalLabelName"] = value
		case "apiserverConfig":
			agent["apiServer"] = value
		case "remoteWrite":
			writers, _ = value.([]any)
		case "additionalScrapeConfigs":
			instance[name] = value
		default:
			if strings.HasSuffix(name, "Selector") {
				instance[name] = value
			} else {
				metrics[name] = value
			}
		}
	}
	object := func(kind, name string, spec map[string]any) {
		out = append(out, map[string]any{"apiVersion": "monitoring.grafana.com/v1alpha1", "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": meta["namespace"]}, "spec": spec})
	}
	object("GrafanaAgent", meta["name"].(string), agent)
	object("MetricsInstance", meta["name"].(string), instance)
	for i, w := range writers {
		if sig, ok := w.(map[string]any)["sigv4"].(map[string]any); ok && sig["roleArn"] != nil {
			sig["roleARN"] = sig["roleArn"]
			delete(sig, "roleArn")
		}
		object("MetricsInstance", fmt.Sprintf("%s-write-%d", meta["name"], i), map[string]any{"remoteWrite": []any{w}})
	}
	return out
}

// renderedCase is a rendered configuration in the parts that are compared.
type renderedCase struct {
	global        map[string]any
	jobs, writers []any
}

func renderedOf(t *testing.T, out *generator.Output) (r renderedCase) {
	t.Helper()
	r.global = map[string]any{}
	for _, u := range out.Units {
		i := slices.IndexFunc(u.Files, func(f generator.File) bool {
			return strings.HasSuffix(f.Path, "-config.secret.yaml")
		})
		if i < 0 {
			continue
		}
		secret, _ := decode(t, u.Files[i].Data).(map[string]any)
		config, _ := decode(t, []byte(secretData(t, secret)["agent.yml"].(string))).(map[string]any)
		metrics, _ := config["metrics"].(map[string]any)
		r.global, _ = metrics["global"].(map[string]any)
		configs, _ := metrics["configs"].([]any)
		for _, c := range configs {
			i := c.(map[string]any)
			jobs, _ := i["scrape_configs"].([]any)
			writers, _ := i["remote_write"].([]any)
			r.jobs, r.writers = append(r.jobs, jobs...), append(r.writers, writers...)
		}
	}
	return r
}

// byName returns jobs by their name: their order has no meaning.
func byName(jobs []any) map[string]any {
	out := map[string]any{}
	for _, j := range jobs {
		m, _ := plain(j).(map[string]any)
		out[fmt.Sprint(m["job_name"])] = m
	}
	return out
}

var (
	operatorCerts = regexp.MustCompile(`^/etc/prometheus/certs/([01])_([^_]*)_([^_]*)_(.*)$`)
	notFileName   = regexp.MustCompile(`[^a-zA-Z0-9_]`)
)

// plain returns a value with texts in place of numbers, the operator's paths of certificates in agentry's spelling,
// and one name for what names the pod.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[k] = plain(item)
		}
		return out
	case []any:
		if v == nil {
			return nil
		}
		out := []any{}
		for _, item := range v {
			out = append(out, plain(item))
		}
		return out
	case bool, nil:
		return v
	case string:
		if m := operatorCerts.FindStringSubmatch(v); m != nil {
			kind := "secrets"
			if m[1] == "1" {
				kind = "configMaps"
			}
			return secretref.Dir + "/" + notFileName.ReplaceAllString("/"+kind+"/"+m[2]+"/"+m[3]+"/"+m[4], "_")
		}
		if v == "$(POD_NAME)" {
			return "replica-$(STATEFULSET_ORDINAL_NUMBER)"
		}
		return v
	}
	number, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}
