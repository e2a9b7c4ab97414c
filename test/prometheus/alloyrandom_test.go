package prometheus

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
)

// randomIntegrations returns two GrafanaAgents with integrations, some of which scrape themselves while
// IntegrationMonitors collect others.
func randomIntegrations(r *rand.Rand) string {
	w := randomWriter{r: r}
	for _, name := range []string{"agent", "other.one"} {
		w.object("GrafanaAgent", "ops", name, "",
			fmt.Sprintf("serviceAccountName: a, metrics: {shards: %d, instanceSelector: {matchLabels: {of: %s}}, "+
				"remoteWrite: [{url: http://prometheus}]}, "+
				"integrations: {selector: {matchLabels: {of: %s}}, namespaceSelector: {}}", 1+r.Intn(3), name, name))
		w.object("MetricsInstance", "ops", "i-"+name, "of: "+name,
			"integrationMonitorSelector: {}, integrationMonitorNamespaceSelector: {}")
		w.integrations(name)
	}
	for i := range 1 + r.Intn(3) {
		w.object("IntegrationMonitor", w.pick("ops", "shop"), fmt.Sprint("m", i), "",
			fmt.Sprintf("selector: {%s}, namespaceSelector: %s, targetLabels: [%s], relabelings: [%s], interval: %s, "+
				"scheme: %s",
				w.pick("", "matchLabels: {team: a}", "matchExpressions: [{key: team, operator: NotIn, values: [b]}]"),
				w.pick("{}", "{any: true}", "{any: true}", "{matchNames: [shop-eu, ops]}"),
				w.pick("", "team"), w.some(rulesOfMonitors()), w.pick("1m", "10s"), w.pick("http", "http", "https")))
	}
	return w.text.String()
}

// randomWriter writes random objects.
type randomWriter struct {
	r    *rand.Rand
	text strings.Builder
}

func (w *randomWriter) pick(from ...string) string { return from[w.r.Intn(len(from))] }

// some returns some of the items of a list.
func (w *randomWriter) some(all []string) string {
	var out []string
	for _, one := range all {
		if w.r.Intn(6) == 0 {
			out = append(out, one)
		}
	}
	w.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return strings.Join(out, ", ")
}

func (w *randomWriter) object(kind, namespace, name, labels, spec string) {
	fmt.Fprintf(&w.text, "---\napiVersion: monitoring.grafana.com/v1alpha1\nkind: %s\n"+
		"metadata: {namespace: %s, name: %s, labels: {%s}}\nspec: {%s}\n", kind, namespace, name, labels, spec)
}

// configs are configurations of integrations: of those that can run once in a pod, and of those that can run several
// times.
func configs() (once, several map[string]string) {
	const modules = "blackbox_config: {modules: {http_2xx: {prober: http}, tcp: {prober: tcp}}}"
	return map[string]string{
			"blackbox": modules + ", blackbox_targets: [{name: a b, address: 'https://example.com/?q=$1', " +
				"module: http_2xx}, {name: c, address: 1.10}, {name: d, address: 'c:443', module: tcp}, {name: e, " +
				"address: 'c:443', module: ''}]",
			"snmp": "walk_params: {private v2: {retries: 2}, x: {}}, snmp_targets: [{name: switch 1, " +
				"address: 192.168.1.2, module: if_mib, walk_params: private v2, auth: public_v2}, {name: b, address: " +
				"b, module: '', snmp_context: x, walk_params: x}]",
			"node_exporter": "set_collectors: [cpu]", "process": "track_threads: false", "agent": "",
		}, map[string]string{
			"redis": "redis_addr: 'redis:6379'", "memcached": "memcached_address: 'm:11211'",
			"apache_http": "scrape_uri: 'http://web/server-status'",
		}
}

// extraLabels are labels of targets, among them such as the program itself sets.
func extraLabels() []string {
	return []string{"tier: one", "price: 'a$1 $$5'", "empty: ''", "job: mine", "instance: mine", "agent_hostname: mine",
		"blackbox_target: mine", "snmp_target: mine", "__param_module: mine",
		"__param_target: mine", "__param_auth: mine", "__param_other: mine", "__meta_agent_integration_name: mine",
		"__metrics_path__: /mine", "__address__: mine"}
}

// rulesOfMonitors are rules for the targets of IntegrationMonitors. None reads the path, in which the programs differ.
func rulesOfMonitors() []string {
	return []string{"{regex: __meta_agent_integration_(.+), action: labelmap}",
		"{regex: __meta_agentoperator_(.+), action: labelmap}", "{regex: __meta_(.+), action: labelmap}",
		"{regex: team, action: labeldrop}",
		"{regex: job, action: labeldrop}", "{sourceLabels: [__param_target], targetLabel: probe}",
		"{sourceLabels: [__address__], targetLabel: pod}", "{targetLabel: __param_module, replacement: other}",
		"{sourceLabels: [__meta_kubernetes_pod_node_name], targetLabel: node}",
		"{sourceLabels: [__meta_agent_integration_name], regex: snmp, action: drop}"}
}

// ownRules are rules for the targets of integrations that scrape themselves.
func ownRules() []string {
	return []string{"{regex: __meta_agent_integration_(.+), action: labelmap}",
		"{regex: __meta_(.+), action: labelmap}", "{regex: agent_hostname, action: labeldrop}",
		"{source_labels: [__meta_agent_integration_instance], target_label: key}",
		"{source_labels: [__param_target], target_label: probe}",
		"{source_labels: [instance, job], target_label: both}",
		"{source_labels: [__meta_component_id], target_label: component}",
		"{target_label: __param_module, replacement: other}"}
}

// integrations writes integrations of a GrafanaAgent.
func (w *randomWriter) integrations(of string) {
	once, several := configs()
	one := func(kind, config string, unique bool) {
		labels := "of: " + of + w.pick("", ", team: a", ", team: b, app.kubernetes.io/name: x")
		name := strings.ReplaceAll(kind, "_", "-") + w.pick("", "-2", ".x") + fmt.Sprint(w.r.Intn(1000))
		config += w.pick(", ", ", ", ", instance: mine, ") + "extra_labels: {" + w.some(extraLabels()) + "}"
		onNodes := unique && w.r.Intn(2) == 0
		if w.r.Intn(4) == 0 { // one of the second RFC
			w.object("Integration", w.pick("ops", "shop"), name, labels,
				fmt.Sprintf("name: %s, type: {unique: %t, allNodes: %t}, config: {%s, autoscrape: {enable: true, "+
					"metrics_instance: ops/i-%s, relabel_configs: [%s]}}",
					kind, unique, onNodes, strings.TrimPrefix(config, ", "), of, w.some(ownRules())))
			return
		}
		placement := "normal"
		switch {
		case onNodes:
			placement = "daemonset"
		case unique:
			placement = "singleton"
		}
		w.object("MetricsIntegration", w.pick("ops", "shop", "shop-eu"), name, labels,
			fmt.Sprintf("name: %s, type: %s, config: {%s}", kind, placement,
				strings.TrimPrefix(strings.Replace(config, "instance: mine, ", "", 1), ", ")))
	}
	for _, kind := range slices.Sorted(maps.Keys(once)) {
		if w.r.Intn(3) > 0 {
			one(kind, once[kind], true)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(several)) {
		for range w.r.Intn(3) {
			one(kind, several[kind], false)
		}
	}
}
