package tenancy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/tenancy"
)

// agent selects everything in all namespaces.
const agent = `apiVersion: monitoring.grafana.com/v1alpha1
kind: GrafanaAgent
metadata: {name: agent, namespace: monitoring}
spec:
  metrics: {instanceSelector: {}, instanceNamespaceSelector: {}}
  logs: {instanceSelector: {}, instanceNamespaceSelector: {}}
  integrations: {selector: {}, namespaceSelector: {}}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: MetricsInstance
metadata: {name: main, namespace: monitoring}
spec:
  remoteWrite: [{url: "http://platform/push"}]
  serviceMonitorSelector: {}
  serviceMonitorNamespaceSelector: {}
---
apiVersion: monitoring.grafana.com/v1alpha1
kind: LogsInstance
metadata: {name: main, namespace: monitoring}
spec:
  clients: [{url: "http://platform/push"}]
  podLogsSelector: {}
  podLogsNamespaceSelector: {}
`

// ownPath is the operator's rule for the path of a pod's own files.
const ownPath = "{sourceLabels: [__meta_kubernetes_pod_uid, __meta_kubernetes_pod_container_name], separator: /, " +
	"targetLabel: __path__, replacement: /var/log/pods/*$1/*.log}"

func instance(spec string) string {
	return "apiVersion: monitoring.grafana.com/v1alpha1\nkind: MetricsInstance\n" +
		"metadata: {name: own, namespace: shop}\nspec: {serviceMonitorSelector: {}, " + spec + "}\n"
}

func podLogs(rule string) string {
	return "apiVersion: monitoring.grafana.com/v1alpha1\nkind: PodLogs\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {pipelineStages: [], relabelings: [" + rule + "], selector: {}}\n"
}

func serviceMonitor(endpoint string) string {
	return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {selector: {}, endpoints: [{port: http" + endpoint + "}]}\n"
}

// breaches returns the tenancy errors in objects of the platform and of the tenant shop.
func breaches(t *testing.T, text string, rules tenancy.Rules, mode manifest.Compatibility) (out diag.List) {
	t.Helper()
	parse := manifest.Options{Compatibility: mode, Tenants: manifest.Tenants{Folders: "teams/{namespace}/**"}}
	secrets := "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\n" +
		"stringData: {user: a, jobs: \"[]\"}\n"
	set := manifest.NewSet(manifest.Parse(manifest.File{Path: "platform.yaml", Data: []byte(agent)}, parse),
		manifest.Parse(manifest.File{Path: "teams/shop/secret.yaml", Data: []byte(secrets)}, parse),
		manifest.Parse(manifest.File{Path: "teams/shop/x.yaml", Data: []byte(text)}, parse))
	for _, o := range set.LeftOut() {
		t.Fatalf("%s is not valid", o.ID)
	}
	for _, d := range generator.Render(set, generator.Options{Compatibility: mode, Tenancy: rules}, nil).Diags {
		if d.Code == diag.Tenancy {
			out = append(out, d)
		}
	}
	return out
}

// TestRules: a tenant's request is an error that names the rule's field, unless the rule of its namespace allows it.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		path  string // of the field with the breach
		field string // of the rule
		allow tenancy.Rule
	}{
		"a URL": {instance(`remoteWrite: [{url: "https://own/push"}]`),
			"spec.remoteWrite[0].url", "urls", tenancy.Rule{URLs: []string{"https://own/*"}}},
		"a proxy": {
			instance(`remoteWrite: [{url: "https://own/push", proxyUrl: "http://proxy:1"}]`),
			"spec.remoteWrite[0].proxyUrl", "urls", tenancy.Rule{URLs: []string{"https://own/*", "http://proxy:1"}}},
		"a URL of logs": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: LogsInstance\n" +
				"metadata: {name: own, namespace: shop}\n" +
				"spec: {podLogsSelector: {}, clients: [{url: \"https://own/push\"}]}\n", "spec.clients[0].url", "urls",
			tenancy.Rule{URLs: []string{"https://*/push"}}},
		"jobs": {instance(`additionalScrapeConfigs: {name: login, key: jobs}`),
			"spec.additionalScrapeConfigs", "scrapeConfigs", tenancy.Rule{ScrapeConfigs: true}},
		"jobs of logs": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: LogsInstance\n" +
				"metadata: {name: own, namespace: shop}\n" +
				"spec: {podLogsSelector: {}, additionalScrapeConfigs: {name: login, key: jobs}}\n",
			"spec.additionalScrapeConfigs", "scrapeConfigs", tenancy.Rule{ScrapeConfigs: true}},
		"an Integration": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: Integration\nmetadata: {name: own, namespace: shop}\n" +
				"spec: {name: node_exporter, type: {allNodes: true, unique: true}, config: {}}\n", "spec.config",
			"scrapeConfigs", tenancy.Rule{ScrapeConfigs: true}},
		"a file": {
			serviceMonitor(`, bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token`),
			"spec.endpoints[0].bearerTokenFile", "files", tenancy.Rule{Files: true}},
		"a file of a CA": {serviceMonitor(`, tlsConfig: {caFile: /etc/ca.crt}`),
			"spec.endpoints[0].tlsConfig.caFile", "files", tenancy.Rule{Files: true}},
		"files of nodes": {podLogs(`{targetLabel: __path__, replacement: /etc/shadow}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by a template": {
			podLogs(`{sourceLabels: [x], regex: "(.*)", targetLabel: "__pa${1}th__", replacement: /etc/shadow}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by a labelmap": {podLogs(`{action: labelmap, regex: "x(.+)x", replacement: "${1}"}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by groups that are not there": {
			podLogs(`{action: labelmap, regex: __meta_kubernetes_pod_annotation_(.+), replacement: "$1x${y}__path__"}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by a part of a name": {
			podLogs(`{action: labelmap, regex: __meta_kubernetes_pod_annotation_x_annotation_(.+)}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"without a pod": {podLogs(`{action: labeldrop, regex: __meta_kubernetes_pod_uid}, ` + ownPath),
			"spec.relabelings[1]", "files", tenancy.Rule{Files: true}},
		"without its pod": {podLogs(`{action: LabelKeep, regex: "[^u]+"}, ` + ownPath),
			"spec.relabelings[1]", "files", tenancy.Rule{Files: true}},
		"what excludes files": {podLogs(strings.Replace(ownPath, "__path__", "__path_exclude__", 1)),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by its sources": {podLogs(`{targetLabel: __meta_kubernetes_pod_uid, replacement: "*"}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"by two templates": {podLogs(`{targetLabel: "_${1}", regex: "(.*)", replacement: /etc/shadow}`),
			"spec.relabelings[0]", "files", tenancy.Rule{Files: true}},
		"a Secret": {
			serviceMonitor(`, basicAuth: {username: {name: login, key: user}, password: {name: login, key: user}}`),
			"spec.endpoints[0].basicAuth.username", "secrets", tenancy.Rule{Secrets: []string{"log*"}}},
		"another agent": {serviceMonitor(""), "", "agents",
			tenancy.Rule{Agents: []string{"other", "monitor*"}}},
		"a variable": {
			instance(`remoteWrite: [{url: "https://own/push", headers: {X-Scope-OrgID: "${TENANT}"}}]`),
			"spec.remoteWrite[0].headers.X-Scope-OrgID", "scrapeConfigs",
			tenancy.Rule{ScrapeConfigs: true, URLs: []string{"*"}}},
		"a variable of logs": {
			"apiVersion: monitoring.grafana.com/v1alpha1\nkind: LogsInstance\n" +
				"metadata: {name: own, namespace: shop}\n" +
				"spec: {podLogsSelector: {}, clients: [{url: \"https://own/push\", externalLabels: {a: $(TENANT)}}]}\n",
			"spec.clients[0].externalLabels.a", "scrapeConfigs",
			tenancy.Rule{ScrapeConfigs: true, URLs: []string{"*"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := tenancy.Rules{{Namespaces: []string{"sh*p"}},
				{Files: true, ScrapeConfigs: true, URLs: []string{"*"}}}
			switch c.field {
			case "secrets":
				rules[0].Secrets = []string{"other"}
			case "agents":
				rules[0].Agents = []string{"other"}
			}
			for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
				found := breaches(t, c.text, rules, mode)
				if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
					return d.Severity == diag.Error && strings.HasPrefix(d.Problem(), c.path) &&
						d.File == "teams/shop/x.yaml" &&
						strings.Contains(d.Problem(), "spec.tenancy.rules[0]."+c.field) && d.Hint != ""
				}) {
					t.Fatalf("%s: %v", mode, found)
				}
				allow := c.allow
				allow.Namespaces = []string{"shop"}
				if found := breaches(t, c.text, tenancy.Rules{allow, {}}, mode); len(found) > 0 {
					t.Errorf("%s: although it is allowed: %v", mode, found)
				}
			}
		})
	}
}

// TestWhatNeedsNoRule holds what is allowed without a rule.
func TestWhatNeedsNoRule(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a monitor": serviceMonitor(
			`, basicAuth: {username: {name: login, key: user}, password: {name: login, key: user}}`),
		"the operator's path of logs": podLogs(ownPath),
		"labels of pods": podLogs(
			`{action: labelmap, regex: __meta_kubernetes_pod_label_(.+)}, {action: labelmap, regex: __meta_kubernetes_pod_label_(.+), replacement: "pod_$1"}`),
		"labels of pods, with an end": podLogs(
			`{action: labelmap, regex: __meta_kubernetes_pod_label_(.+), replacement: "${1}_label"}`),
		"without a label": podLogs(ownPath + `, {action: labeldrop, regex: pod}`),
		"a label": podLogs(
			`{sourceLabels: [__meta_kubernetes_pod_name], targetLabel: pod}, {targetLabel: __tmp_x, replacement: a}, {action: drop, sourceLabels: [a], regex: b}`),
		"an instance without a writer": instance("maxWALTime: 4h"),
	} {
		for _, mode := range []manifest.Compatibility{manifest.Operator, manifest.Current} {
			found := breaches(t, text, nil, mode)
			if len(found) > 0 {
				t.Errorf("%s, %s: %v", name, mode, found)
			}
		}
	}
}

// TestURLs: an asterisk does not lead out of the host.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, url string
		allowed      bool
	}{
		{"https://mimir.example.com/*", "https://mimir.example.com/api/v1/push", true},
		{"https://mimir.example.com/*", "https://mimir.example.com/", true},
		{"https://mimir.example.com/api/v1/push", "https://mimir.example.com/api/v1/push", true},
		{"https://mimir.example.com/api/v1/push", "https://mimir.example.com/api/v1/push?x=y", false},
		{"https://*.example.com/*", "https://mimir.example.com/push", true},
		{"https://*.example.com/*", "https://evil.org/x.example.com/push", false},
		{"https://*.example.com/*", "https://evil.org?x.example.com/push", false},
		{"https://*.example.com/*", "https://evil.org#.example.com/push", false},
		{"https://*.example.com/*", `https://evil.org\.example.com/push`, false},
		{"https://mimir.example.com/*", "https://mimir.example.com@evil.org/push", false},
		{"https://mimir.example.com/*", "https://mimir.example.com:pass@evil.org/push", false},
		{"https://mimir.example.com/*", "https://mimir.example.com.evil.org/push", false},
		{"https://mimir.example.com/*", "https://mimir.example.com:8443/push", false},
		{"https://mimir.example.com/*", "http://mimir.example.com/push", false},
		{"https://mimir.example.com/shop/*", "https://mimir.example.com/shop/../blog/push", false},
		{"https://mimir.example.com/shop/*", "https://mimir.example.com/shop/%2e%2e/blog/push", false},
		{"https://mimir.example.com/*", "mimir.example.com", false},
		{"https://mimir.example.com/*", "https://mimir.example.com/${X:-../..}", false},
		{"*", "anything", true},
	} {
		rules := tenancy.Rules{{URLs: []string{c.pattern}}}
		found := breaches(t, instance(`remoteWrite: [{url: '`+c.url+`'}]`), rules, manifest.Operator)
		if allowed := len(found) == 0; allowed != c.allowed {
			t.Errorf("%s for %s: %v", c.pattern, c.url, allowed)
		}
		if err := tenancy.CheckURL(c.pattern); err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
	}
	for _, pattern := range []string{"mimir", "https://", "https://mimir*", "ftp://a/", "https://a@b/", "https:///x"} {
		if tenancy.CheckURL(pattern) == nil {
			t.Errorf("%s is accepted", pattern)
		}
	}
}

// TestAgentsOfTenants run nothing of other namespaces, even if the platform defines the instance that selects it.
func TestAgentsOfTenants(t *testing.T) {
	t.Parallel()
	parse := manifest.Options{Compatibility: manifest.Operator,
		Tenants: manifest.Tenants{Folders: "teams/{namespace}/**"}}
	file := func(name, text string) manifest.Result {
		return manifest.Parse(manifest.File{Path: name, Data: []byte(text)}, parse)
	}
	own := "apiVersion: monitoring.grafana.com/v1alpha1\nkind: GrafanaAgent\nmetadata: {name: own, namespace: shop}\n" +
		"spec: {metrics: {instanceSelector: {}}}\n"
	for _, c := range []struct{ agentIn, instanceIn, blamed string }{
		{"platform.yaml", "platform.yaml", ""}, {"teams/shop/x.yaml", "platform.yaml", "GrafanaAgent"},
		{"teams/shop/x.yaml", "teams/shop/y.yaml", "MetricsInstance"},
	} {
		set := manifest.NewSet(file(c.agentIn, own),
			file(c.instanceIn, instance("serviceMonitorNamespaceSelector: {}")),
			file("platform/web.yaml", strings.Replace(serviceMonitor(""), "namespace: shop", "namespace: blog", 1)))
		blamed := ""
		for _, d := range generator.Render(set, generator.Options{Compatibility: manifest.Operator}, nil).Diags {
			if d.Code == diag.Tenancy {
				blamed += d.Object.Kind
			}
		}
		if blamed != c.blamed {
			t.Errorf("the agent of %s and the instance of %s: %q is blamed, not %q", c.agentIn, c.instanceIn, blamed,
				c.blamed)
		}
	}
}
