package operator

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stricter are the findings for which agentry leaves an object out that the operator's own checks accept, and why.
var stricter = map[string]string{
	"duplicate-object":              "a cluster has one object of a name: the operator never sees two",
	"invalid-field":                 "the API server refuses the object; test/e2e/validity asks one",
	"unknown-field":                 "the API server takes the field away; agentry says so",
	"needs-newer-prometheus":        "What decides what is scraped, and the runtime does not have, is refused",
	"invalid-setting":               asAWhole,
	"invalid-duration":              asAWhole,
	"interval-above-wal-truncation": asAWhole,
	"invalid-relabeling":            asAWhole,
	"auth-conflict":                 asAWhole,
	"invalid-selector":              "A selector with a value that no label can have is an error, in Probes too",
}

const asAWhole = "What the agent would refuse as a whole file is an error of the object"

// laxer are the reasons for which the operator leaves an object out that agentry renders.
var laxer = []struct {
	reason *regexp.Regexp
	why    string
}{
	{regexp.MustCompile(`is invalid 'target_label' for replace action`),
		"Captures in target labels, such as `pre_${1}`, are accepted"},
	{regexp.MustCompile(`unable to get .* not found|key .* not found`),
		"If an optional reference does not resolve, its setting is left out"},
	{regexp.MustCompile("field `matchFirstNetwork` is only supported"),
		"`matchFirstNetwork: false` is accepted, because it says what the agent does anyway"},
	{regexp.MustCompile(`greater than scrapeInterval \\?"0[a-z]*\\?"`),
		"An interval of `0s` is none, as it is for Prometheus"},
}

// addition is a rule of jobs that only agentry writes.
type addition struct {
	kind, label string
	why         string // as docs/compatibility.md says it
}

var additions = []addition{
	{"PodMonitor", "endpoint", "A `portNumber` gets the label `endpoint`"},
	{"ScrapeConfig", "tenant", "A ScrapeConfig without relabelings has the enforced namespace too"},
}

const (
	emptyDuration  = "An empty duration of a ScrapeConfig counts as not set"
	nullRegex      = "It is written `(?:null)`, `(?:~)`, which matches the same"
	emptyProbePath = "An empty `path` of a prober is `/probe`"

	emptyRegex = "`regex: \"\"` in a relabeling matches the empty value"
	ofAzure    = "Client settings of `azureSDConfigs` are rendered"
)

// lost are the settings of service discoveries that the operator loses.
var lost = []string{"basic_auth", "authorization", "oauth2", "tls_config", "enable_http2", "follow_redirects",
	"proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header"}

// withoutAdditions takes out of a job what agentry adds on purpose and the operator does not have. It returns why it is
// there.
func withoutAdditions(kind string, want, got any) (job any, reasons []string) {
	theirs, _ := want.(map[string]any)
	ours, _ := got.(map[string]any)
	rules, _ := ours["relabel_configs"].([]any)
	for _, a := range additions {
		if a.kind != kind || sets(theirs["relabel_configs"], a.label) {
			continue
		}
		for i, r := range rules {
			rule, _ := r.(map[string]any)
			if len(rule) == 2 && rule["target_label"] == a.label && rule["replacement"] != nil {
				rules = append(rules[:i:i], rules[i+1:]...)
				reasons = append(reasons, a.why)
				break
			}
		}
	}
	if len(reasons) > 0 {
		ours["relabel_configs"] = rules
	}
	samples, _ := ours["metric_relabel_configs"].([]any)
	for _, r := range slices.Concat(rules, samples) {
		switch rule, _ := r.(map[string]any); rule["regex"] {
		case "":
			delete(rule, "regex")
			reasons = append(reasons, emptyRegex)
		case "(?:~)", "(?:null)":
			rule["regex"] = strings.Trim(rule["regex"].(string), "(?:)")
			reasons = append(reasons, nullRegex)
		}
	}
	if params, _ := theirs["params"].(map[string]any); len(params) == 0 {
		delete(theirs, "params") // no parameters either way
	}
	dropEmptySelectors(theirs)
	if dropEmptyDurations(want) {
		reasons = append(reasons, emptyDuration)
	}
	if kind == "Probe" && theirs["metrics_path"] == "" && ours["metrics_path"] == "/probe" {
		theirs["metrics_path"] = "/probe"
		reasons = append(reasons, emptyProbePath)
	}
	azure, _ := ours["azure_sd_configs"].([]any)
	operators, _ := theirs["azure_sd_configs"].([]any)
	for i, d := range azure {
		for _, name := range lost {
			discovery, _ := d.(map[string]any)
			if _, has := discovery[name]; has && i < len(operators) && operators[i].(map[string]any)[name] == nil {
				delete(discovery, name)
				reasons = append(reasons, ofAzure)
			}
		}
	}
	return got, slices.Compact(slices.Sorted(slices.Values(reasons)))
}

// dropEmptySelectors takes out the selectors of roles that select everything, which agentry does not write.
func dropEmptySelectors(job map[string]any) {
	discoveries, _ := job["kubernetes_sd_configs"].([]any)
	for _, d := range discoveries {
		discovery, _ := d.(map[string]any)
		selectors, _ := discovery["selectors"].([]any)
		for _, s := range selectors {
			if selector, _ := s.(map[string]any); selector["label"] == "" {
				delete(discovery, "selectors")
			}
		}
	}
}

// dropEmptyDurations takes empty durations out, wherever they are, and reports whether there are any.
func dropEmptyDurations(settings any) (dropped bool) {
	switch settings := settings.(type) {
	case map[string]any:
		for name, value := range settings {
			if value == "" && (strings.HasSuffix(name, "_interval") || strings.HasSuffix(name, "_timeout")) {
				delete(settings, name)
				dropped = true
			}
			dropped = dropEmptyDurations(value) || dropped
		}
	case []any:
		for _, value := range settings {
			dropped = dropEmptyDurations(value) || dropped
		}
	}
	return dropped
}

// sets reports whether a rule sets a label.
func sets(rules any, label string) bool {
	list, _ := rules.([]any)
	for _, r := range list {
		if rule, _ := r.(map[string]any); rule["target_label"] == label {
			return true
		}
	}
	return false
}

// TestDeparturesAreDocumented holds the reasons that are agentry's own against the manual.
func TestDeparturesAreDocumented(t *testing.T) {
	manual, err := os.ReadFile(root + "/docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(manual)), " ")
	reasons := []string{stricter["needs-newer-prometheus"], stricter["invalid-selector"], asAWhole, emptyRegex,
		emptyDuration, emptyProbePath, nullRegex, ofAzure}
	for _, l := range laxer {
		reasons = append(reasons, l.why)
	}
	for _, a := range additions {
		reasons = append(reasons, a.why)
	}
	for _, reason := range reasons {
		if !strings.Contains(text, reason) {
			t.Errorf("docs/compatibility.md does not say: %s", reason)
		}
	}
}
