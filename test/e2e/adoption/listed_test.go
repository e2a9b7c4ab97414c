package adoption

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// refusals are the cases of which the API server does not take everything, and what it says.
// They cannot exist in a cluster.
func refusals() map[string]string {
	return map[string]string{
		"agent-remaining-fields":           `StatefulSet.apps "one" is invalid: spec.volumeClaimTemplates[0].spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified`,
		"bad-durations":                    `ServiceMonitor.monitoring.coreos.com "d" is invalid: spec.endpoints[0].interval: Invalid value: "abc"`,
		"bad-names":                        `Deployment.apps "agent.with.dots-integrations-deploy" is invalid: [spec.template.spec.volumes[3].name: Invalid value: "sad-an-integration-with-quite-a-long-name-a-volume-with-a-long-name-as-well": must be no more than 63 characters`,
		"bad-types":                        `GrafanaAgent.monitoring.grafana.com "agent" is invalid: spec.metrics.externalLabels.build: Invalid value: "integer"`,
		"bad-unknown-integration":          `Integration.monitoring.grafana.com "string" is invalid: spec.config: Invalid value: "string"`,
		"conflict-derived-names":           `Only one reference can have Controller set to true. Found "true" in references for GrafanaAgent/web and GrafanaAgent/web-shard-1`,
		"integration-volume-mounted-twice": `DaemonSet.apps "otter-integrations-ds" is invalid: [spec.template.spec.containers[0].volumeMounts[3].name: Not found: "glue-twice-host"`,
		"storage-ephemeral":                `StatefulSet.apps "temp" is invalid: spec.volumeClaimTemplates[0].spec.resources[storage]: Required value`,
	}
}

// listed is a way in which what agentry applies is not what the operator made.
type listed struct {
	change string // as it begins
	page   string // what docs/compatibility.md says of it
}

// everywhere is what adopting any GrafanaAgent changes, in the order of the page's table. The
// places of * are anything.
func everywhere() []listed {
	return []listed{
		{`* +metadata.annotations[kustomize.toolkit.fluxcd.io/substitute]: "disabled"`,
			"the annotation `kustomize.toolkit.fluxcd.io/substitute: disabled`"},
		{`* +metadata.labels[agentry.dev/workload]: *`, "the label `agentry.dev/workload`"},
		{`Deployment/* ~metadata.generation: 1 -> 2`, "its `generation` counts on"},
		{`new Service/*-integrations-sd`, "the Service `<agent>-integrations-sd`"},
	}
}

// departures are what else changes, and in which case.
func departures() map[string][]listed {
	const (
		stopped = "One bad object stops the whole GrafanaAgent, or lets its pods crash."
		unseen  = "`additionalScrapeConfigs` are passed on unseen."
		half    = "`basicAuth` with one half missing fails"
		keys    = "a key that only an object needs which is left out"
	)
	all := func(page string, changes ...string) (out []listed) {
		for _, c := range changes {
			out = append(out, listed{c, page})
		}
		return out
	}
	metrics := func(name string) []listed {
		return all(stopped, "new Secret/sad/"+name+"-config", "new Service/sad/"+name+"-operated",
			"new StatefulSet/sad/"+name)
	}
	logs := all(stopped, "new DaemonSet/sad/agent-logs", "new Secret/sad/agent-logs-config")
	shared := all(stopped, "new Secret/sad/agent-secrets")
	return map[string][]listed{
		"bad-additional-scrape-duplicate-job": slices.Concat(all(unseen,
			"Secret/sad/agent-config -data[agent.yml].metrics.configs[0].scrape_configs[*].job_name"),
			all(keys, "Secret/sad/agent-secrets -data._secrets_sad_extra_")),
		"bad-additional-scrape-not-list": append(metrics("agent"),
			all(keys, "Secret/sad/agent-secrets -data._secrets_sad_extra_s_yml")...),
		"bad-additional-scrape-yaml": append(metrics("agent"),
			all(keys, "Secret/sad/agent-secrets -data._secrets_sad_extra_s_yml")...),
		"bad-basic-auth-half": slices.Concat(metrics("scrape"),
			all(keys, "Secret/sad/rw-secrets -data._secrets_sad_creds_user",
				"Secret/sad/scrape-secrets -data._secrets_sad_creds_user"),
			all(half, "not rendered Secret/sad/rw-config", "not rendered Service/sad/rw-operated",
				"not rendered StatefulSet/sad/rw")),
		"bad-cr-selector-operator": append(metrics("agent"), shared...),
		"bad-duplicate-unique-integration": all("Two of an integration that can run once",
			"not rendered DaemonSet/sad/agent-integrations-ds", "not rendered Secret/sad/agent-integrations-ds-config"),
		"bad-histogram-bucket": logs,
		"bad-integration-missing-secret": all("An integration that mounts a Secret which does not exist is rendered.",
			"not rendered Deployment/sad/agent-integrations-deploy",
			"not rendered Secret/sad/agent-integrations-deploy-config"),
		"bad-match-stages-not-list":  logs,
		"bad-match-stages-yaml":      logs,
		"bad-missing-key":            shared,
		"bad-missing-key-optional":   metrics("agent"),
		"bad-missing-key-unrendered": append(metrics("agent"), shared...),
		"bad-missing-secret-inline":  metrics("agent"),
		"bad-one-team-breaks-all": all(stopped, "new DaemonSet/platform/agent-logs",
			"new Deployment/platform/agent-integrations-deploy", "new Secret/platform/agent-config",
			"new Secret/platform/agent-integrations-deploy-config", "new Secret/platform/agent-logs-config",
			"new Service/platform/agent-operated", "new StatefulSet/platform/agent"),
		"bad-scrape-timeout": all(stopped,
			"Secret/sad/agent-config -data[agent.yml].metrics.configs[0].scrape_configs[0]."),
		"bad-secret-key-collision": slices.Concat(all(keys, "Secret/sad/agent-secrets -data._secrets_a_b_c_"),
			all("share one key of `<agent>-secrets`", "not rendered Secret/sad/agent-config",
				"not rendered Service/sad/agent-operated", "not rendered StatefulSet/sad/agent")),
		"bad-target-selector-nil-values": metrics("agent"),
		"bad-two-auth-methods": slices.Concat(all(stopped,
			"Secret/sad/scrape-config -data[agent.yml].metrics.configs[0].scrape_configs[0].",
			"not rendered Secret/sad/write-config", "not rendered Service/sad/write-operated",
			"not rendered StatefulSet/sad/write"),
			all(keys, "Secret/sad/scrape-secrets -data._secrets_sad_creds_",
				"Secret/sad/write-secrets -data._secrets_sad_creds_")),
		"conflict-same-agent-name-empty": all("`conflict-same-agent-name-empty`", "new StatefulSet/alpha/agent"),
		"integration-config-values": all("`integration-config-values`",
			"Secret/glue/otter-integrations-deploy-config -data[agent.yml].integrations.blackbox_configs[0]."),
		"rw-oauth2-configmap-client-id": all("`rw-oauth2-configmap-client-id`",
			"Secret/fleet/sender-config +data[agent.yml].metrics.configs[0].remote_write[0].oauth2.client_id",
			"Secret/fleet/sender-logs-config +data[agent.yml].logs.configs[0].clients[0].oauth2.client_id"),
		"sm-relabelings": all("`sm-relabelings`", "Secret/apps/agent-config +data[agent.yml].metrics.instance_mode"),
		"stages-lossy": all("`stages-lossy`",
			"Secret/logging/beaver-logs-config -data[agent.yml].logs.configs[0].scrape_configs[0]."),
	}
}

// expect holds the changes of a case against what is listed. What is listed must change, but for
// the keys that go only where Flux applies.
func expect(t *testing.T, who, name string, changes []string) {
	t.Helper()
	rest := slices.DeleteFunc(slices.Clone(changes), func(change string) bool {
		return slices.ContainsFunc(everywhere(), func(l listed) bool { return l.covers(change) })
	})
	var errs []string
	for _, change := range rest {
		if !slices.ContainsFunc(departures()[name], func(l listed) bool { return l.covers(change) }) {
			errs = append(errs, "not listed: "+change)
		}
	}
	for _, l := range departures()[name] {
		if !slices.ContainsFunc(rest, l.covers) && (who == "Flux" || !strings.Contains(l.change, "-data._")) {
			errs = append(errs, "listed, but the same: "+l.change)
		}
	}
	const most = 10
	if len(errs) > 0 {
		t.Errorf("%s makes other changes than those that are listed, %d:\n%s", who, len(errs),
			strings.Join(errs[:min(most, len(errs))], "\n"))
	}
}

// covers reports whether a change begins as it is listed.
func (l listed) covers(change string) bool {
	parts := strings.Split(l.change, "*")
	for i, part := range parts {
		at := strings.Index(change, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		change = change[at+len(part):]
	}
	return true
}

// TestDifferencesAreDocumented holds the lists above against the manual.
func TestDifferencesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	all := everywhere()
	for _, ls := range departures() {
		all = append(all, ls...)
	}
	for _, l := range all {
		if !strings.Contains(page, l.page) {
			t.Errorf("docs/compatibility.md does not say %q", l.page)
		}
	}
	_, section, _ := strings.Cut(string(text), "\n## What adopting changes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	// Owners and keys are not of every case.
	if rows := strings.Count(section, "\n| ") - 1; rows != len(everywhere())+2 {
		t.Errorf("docs/compatibility.md lists %d changes, the test %d", rows, len(everywhere())+2)
	}
}
