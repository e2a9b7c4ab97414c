package agent_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/compile"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes/agent"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// found builds the configuration of an agent with one instance and one monitor, and lists
// the codes of what was found, with the lines of the errors' objects.
func found(t *testing.T, spec, instance, endpoint string) []string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: m}
spec: {metrics: {instanceSelector: {}, remoteWrite: [{url: "https://x.example.com/push"}]%s}}
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
`, spec, instance, endpoint)
	r := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	if r.Diags.HasErrors() {
		t.Fatal(r.Diags)
	}
	set := manifest.NewSet(r)
	h := hierarchy.Build(set, nil)[0]
	built := compile.Hierarchy(h, set, compile.Options{Secrets: secretref.Policies{Default: secretref.Plaintext}})
	built.Check(agent.Check)
	var out []string
	for _, d := range built.Diags {
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
		"nothing is wrong": {"", "", "", nil},
		"durations with days": {", scrapeInterval: 30s", ", walTruncateFrequency: 90m",
			", interval: 1h", nil},
		"a global timeout above the interval": {", scrapeInterval: 10s, scrapeTimeout: 20s", "", "",
			agentSays(diag.TimeoutAboveInterval)},
		"zero durations are defaults": {", scrapeInterval: 0s", ", minWALTime: 0s",
			", interval: 0s, scrapeTimeout: 1m", nil},
		"a global interval": {", scrapeInterval: soon", "", "",
			agentSays(diag.InvalidDuration)},
		"two things at once": {", scrapeInterval: soon, enforcedNamespaceLabel: a-b", "",
			"", agentSays(diag.InvalidDuration, diag.InvalidRelabeling)},
		"names of labels for the cluster and the replica": {
			`, metricsExternalLabelName: a-b, replicaExternalLabelName: "["`, "", "",
			agentSays(diag.InvalidLabelName, diag.InvalidLabelName)},
		"too many shards": {fmt.Sprintf(", shards: %d", compile.MaxShards+1), "", "",
			agentSays(diag.InvalidSetting)},
		"as many shards as there may be": {fmt.Sprintf(", shards: %d", compile.MaxShards), "", "",
			nil},
		"the WAL takes no days": {"", ", maxWALTime: 1d", "",
			instanceSays(diag.InvalidDuration)},
		"the WAL takes fractions": {"", ", walTruncateFrequency: 1.5h", "", nil},
		"a frequency of zero": {"", ", walTruncateFrequency: 0s", "",
			instanceSays(diag.InvalidWALTimes)},
		"a negative flush deadline": {"", ", remoteFlushDeadline: -1m", "",
			instanceSays(diag.InvalidWALTimes)},
		"a minimum above the default maximum": {"", ", minWALTime: 5h", "",
			instanceSays(diag.InvalidWALTimes)},
		"an interval above the truncation": {"", "", ", interval: 2h",
			monitorSays(diag.IntervalAboveWAL)},
		"the default interval above it": {"", ", walTruncateFrequency: 59s", "",
			instanceSays(diag.IntervalAboveWAL)},
		"a timeout above the interval": {"", "", ", interval: 10s, scrapeTimeout: 11s",
			monitorSays(diag.TimeoutAboveInterval)},
		"a timeout above the global interval": {", scrapeInterval: 10s", "", ", scrapeTimeout: 11s",
			monitorSays(diag.TimeoutAboveInterval)},
		"a timeout equal to the interval": {"", "", ", interval: 10s, scrapeTimeout: 10s", nil},
		"two kinds of credentials": {"",
			`, remoteWrite: [{url: "http://x/push", sigv4: {}, bearerTokenFile: /t}]`, "",
			instanceSays(diag.AuthConflict)},
		"a token and its file": {"",
			`, remoteWrite: [{url: "http://x/push", bearerToken: a, bearerTokenFile: /t}]`, "",
			instanceSays(diag.AuthConflict)},
		"a reserved header": {"",
			`, remoteWrite: [{url: "http://x/push", headers: {user-agent: me}}]`, "", instanceSays(diag.InvalidHeader)},
		"a queue": {"",
			`, remoteWrite: [{url: "http://x/push", queueConfig: {minBackoff: 1x}}]`, "",
			instanceSays(diag.InvalidDuration)},
		"a write relabeling": {"",
			`, remoteWrite: [{url: "http://x/push", writeRelabelConfigs: [{action: hashmod, targetLabel: a}]}]`, "",
			instanceSays(diag.InvalidRelabeling)},
		"a metadata interval": {"",
			`, remoteWrite: [{url: "http://x/push", metadataConfig: {sendInterval: x}}]`, "",
			instanceSays(diag.InvalidDuration)},
		"a file of the agent although it is denied": {", arbitraryFSAccessThroughSMs: {deny: true}", "",
			", bearerTokenFile: /t", monitorSays(diag.FileAccessDenied)},
		"the enforced label": {", enforcedNamespaceLabel: ns", "",
			", metricRelabelings: [{targetLabel: ns}]", monitorSays(diag.EnforcedLabel)},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, found(t, c.agent, c.instance, c.endpoint)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
