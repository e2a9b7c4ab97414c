package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// found builds the configuration of an agent with one instance and one monitor, and lists
// the codes of what was found, with the lines of the errors' objects.
func found(t *testing.T, agent, instance, endpoint string) []string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: "https://x.example.com"}]%s}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: i, namespace: m}
spec: {serviceMonitorSelector: {}%s}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: s, namespace: m}
spec: {selector: {}, endpoints: [{port: web%s}]}
`, agent, instance, endpoint)
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	set := manifest.NewSet(r)
	h := hierarchy.Build(set, nil)[0]
	var out []string
	for _, d := range Build(h, set, Options{Policy: secretref.Plaintext}).Diags {
		out = append(out, d.Object.Kind+" "+string(d.Code))
	}
	return out
}

func TestChecks(t *testing.T) {
	agentSays := func(codes ...diag.Code) (out []string) {
		for _, c := range codes {
			out = append(out, "GrafanaAgent "+string(c))
		}
		return out
	}
	instanceSays := func(c diag.Code) []string { return []string{"MetricsInstance " + string(c)} }
	monitorSays := func(c diag.Code) []string { return []string{"ServiceMonitor " + string(c)} }
	for name, c := range map[string]struct {
		agent, instance, endpoint string
		want                      []string
	}{
		"nothing is wrong":                                {"", "", "", nil},
		"durations with days":                             {", scrapeInterval: 30s", ", walTruncateFrequency: 90m", ", interval: 1h", nil},
		"a global timeout above the interval":             {", scrapeInterval: 10s, scrapeTimeout: 20s", "", "", nil},
		"zero durations are defaults":                     {", scrapeInterval: 0s", ", minWALTime: 0s", ", interval: 0s, scrapeTimeout: 1m", nil},
		"a global interval":                               {", scrapeInterval: soon", "", "", agentSays(diag.InvalidDuration)},
		"two things at once":                              {", scrapeInterval: soon, enforcedNamespaceLabel: a-b", "", "", agentSays(diag.InvalidDuration, diag.InvalidRelabeling)},
		"names of labels for the cluster and the replica": {`, metricsExternalLabelName: a-b, replicaExternalLabelName: "["`, "", "", agentSays(diag.InvalidLabelName, diag.InvalidLabelName)},
		"too many shards":                                 {fmt.Sprintf(", shards: %d", MaxShards+1), "", "", agentSays(diag.InvalidSetting)},
		"as many shards as there may be":                  {fmt.Sprintf(", shards: %d", MaxShards), "", "", nil},
		"the WAL takes no days":                           {"", ", maxWALTime: 1d", "", instanceSays(diag.InvalidDuration)},
		"the WAL takes fractions":                         {"", ", walTruncateFrequency: 1.5h", "", nil},
		"a frequency of zero":                             {"", ", walTruncateFrequency: 0s", "", instanceSays(diag.InvalidWALTimes)},
		"a negative flush deadline":                       {"", ", remoteFlushDeadline: -1m", "", instanceSays(diag.InvalidWALTimes)},
		"a minimum above the default maximum":             {"", ", minWALTime: 5h", "", instanceSays(diag.InvalidWALTimes)},
		"an interval above the truncation":                {"", "", ", interval: 2h", monitorSays(diag.IntervalAboveWAL)},
		"the default interval above it":                   {"", ", walTruncateFrequency: 59s", "", instanceSays(diag.IntervalAboveWAL)},
		"a timeout above the interval":                    {"", "", ", interval: 10s, scrapeTimeout: 11s", monitorSays(diag.TimeoutAboveInterval)},
		"a timeout above the global interval":             {", scrapeInterval: 10s", "", ", scrapeTimeout: 11s", monitorSays(diag.TimeoutAboveInterval)},
		"a timeout equal to the interval":                 {"", "", ", interval: 10s, scrapeTimeout: 10s", nil},
		"two kinds of credentials":                        {"", `, remoteWrite: [{url: "http://x", sigv4: {}, bearerTokenFile: /t}]`, "", instanceSays(diag.AuthConflict)},
		"a token and its file":                            {"", `, remoteWrite: [{url: "http://x", bearerToken: a, bearerTokenFile: /t}]`, "", instanceSays(diag.AuthConflict)},
		"a reserved header":                               {"", `, remoteWrite: [{url: "http://x", headers: {user-agent: me}}]`, "", instanceSays(diag.InvalidHeader)},
		"a queue":                                         {"", `, remoteWrite: [{url: "http://x", queueConfig: {minBackoff: 1x}}]`, "", instanceSays(diag.InvalidDuration)},
		"a write relabeling":                              {"", `, remoteWrite: [{url: "http://x", writeRelabelConfigs: [{action: hashmod, targetLabel: a}]}]`, "", instanceSays(diag.InvalidRelabeling)},
		"a metadata interval":                             {"", `, remoteWrite: [{url: "http://x", metadataConfig: {sendInterval: x}}]`, "", instanceSays(diag.InvalidDuration)},
		"a file of the agent although it is denied":       {", arbitraryFSAccessThroughSMs: {deny: true}", "", ", bearerTokenFile: /t", monitorSays(diag.FileAccessDenied)},
		"the enforced label":                              {", enforcedNamespaceLabel: ns", "", ", metricRelabelings: [{targetLabel: ns}]", monitorSays(diag.EnforcedLabel)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, c.agent, c.instance, c.endpoint)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	for text, c := range map[string]struct {
		want string
		ok   bool
	}{
		"":                    {"", true},
		"$":                   {"", true},
		"a $1 ${1} $name":     {"", true},
		"$(A)-${B}":           {"$(A) ${B}", true},
		"$$(A)":               {"$(A)", true}, // the reloader has no escape
		"$${A}":               {"", true},
		"$$${A}":              {"${A}", true},
		"${A:-x} ${B=y}":      {"", true},
		"${#A} ${B^} ${C/x/}": {"${A} ${B} ${C}", true},
		"$(A-B) $()":          {"", true},
		"${a-b}":              {"", false},
		"${A":                 {"", false},
		"${}":                 {"", false},
		"${A:-x":              {"", false},
		"${":                  {"", false},
	} {
		found, ok := variables(text)
		var names []string
		for _, v := range found {
			names = append(names, v.text)
		}
		if got := strings.Join(names, " "); got != c.want || ok != c.ok {
			t.Errorf("%q: %q, %t; want %q, %t", text, got, ok, c.want, c.ok)
		}
	}
}

func TestSettings(t *testing.T) {
	global := &model.Global{RemoteWrite: []model.RemoteWrite{{URL: "http://x"}}}
	plain := model.Instance{Name: "a"}
	for name, c := range map[string]struct {
		instance model.Instance
		equal    bool
	}{
		"another name":          {model.Instance{Name: "b"}, true},
		"other jobs":            {model.Instance{Name: "b", ScrapeConfigs: []*model.ScrapeConfig{{JobName: "x"}}}, true},
		"defaults":              {model.Instance{WALTruncateFrequency: "1h", MinWALTime: "300s", MaxWALTime: "4h0m", RemoteFlushDeadline: "60s"}, true},
		"the global list":       {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://x", Name: "n"}}}, true},
		"another remote write":  {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://y"}}}, false},
		"another frequency":     {model.Instance{WALTruncateFrequency: "2h"}, false},
		"stale marks":           {model.Instance{WriteStaleOnShutdown: true}, false},
		"one more remote write": {model.Instance{RemoteWrite: []model.RemoteWrite{{URL: "http://x"}, {URL: "http://y"}}}, false},
	} {
		if got := settings(c.instance, global) == settings(plain, global); got != c.equal {
			t.Errorf("%s: equal is %t", name, got)
		}
	}
	x, y := model.RemoteWrite{URL: "http://x"}, model.RemoteWrite{URL: "http://y"}
	if settings(model.Instance{RemoteWrite: []model.RemoteWrite{x, y}}, global) != settings(model.Instance{RemoteWrite: []model.RemoteWrite{y, x}}, global) {
		t.Error("the order of remote writes makes a difference")
	}
}

// FuzzParseJobs holds that no text panics or makes an error that quotes it, and that what
// is read can be written and read again.
func FuzzParseJobs(f *testing.F) {
	for _, seed := range []string{"", "- a: b", "- &a {x: *a}", "- <<: [{a: 1}, {b: 2}]", "- a: |\n    x\u2028y\n", "[[[[", "- !!binary aGk=", "? [a]\n: b", "- {<<: 1}", "--- \n- {a: ~}\n---\n- b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		items, _, bad := parseJobs([]byte(text))
		if bad != nil {
			if bad.line < 0 || strings.ContainsAny(bad.message, "`\"") {
				t.Errorf("line %d: %s", bad.line, bad.message)
			}
			return
		}
		for _, item := range items {
			raw, err := encodeNode(item)
			if err != nil {
				continue
			}
			again, _, bad := parseJobs([]byte("- " + strings.ReplaceAll(strings.TrimSuffix(string(raw), "\n"), "\n", "\n  ")))
			if bad != nil || len(again) > 1 {
				t.Errorf("%q became %q: %v", text, raw, bad)
			}
		}
	})
}

// TestHide holds that reviewers see no credential of a hand-written scrape configuration.
func TestHide(t *testing.T) {
	const text = `job_name: x
basic_auth:
  username: me
  password: hush
bearer_token: hush
bearer_token_file: /token
azure_sd_configs:
  - client_secret: hush
    access_key: seen
static_configs:
  - targets:
      - a
`
	items, _, bad := parseJobs([]byte("- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")))
	if bad != nil {
		t.Fatal(bad)
	}
	raw := handWritten{}.encode(items)[0]
	if string(raw.Text) != text {
		t.Errorf("changed:\n%s", raw.Text)
	}
	if want := strings.ReplaceAll(text, "hush", `"<redacted>"`); string(raw.Redacted) != want {
		t.Errorf("shown:\n%s", raw.Redacted)
	}
	items, _, _ = parseJobs([]byte("- {job_name: x, bearer_token_file: /token}"))
	if raw := (handWritten{}).encode(items)[0]; raw.Redacted != nil {
		t.Errorf("nothing to hide: %s", raw.Redacted)
	}
}
