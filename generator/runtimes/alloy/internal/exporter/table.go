package exporter

import (
	"sync"

	"github.com/agentry-dev/agentry/generator/model"
)

// Kind is an integration as Alloy has it.
type Kind struct {
	// Name is its name in the agent.
	Name string
	// Component is the name of its component. It is empty if there is none, and then Instead is the way out.
	Component string
	Instead   string
	// Targets is the field with its targets, one for each item, and TargetLabel the label that has the address of one.
	Targets, TargetLabel string
	// Native means that extra_labels may change the label job of its targets.
	Native bool
	// Differs describes the differences in Alloy, for people who compare. It is empty if the exporter has the same
	// version.
	Differs string

	names    map[string]string // the path of the argument for a field: a name, or a block and a name
	convert  map[string]func(*arguments, model.Value)
	refused  map[string]string // fields that no component has, and the way out
	ignored  map[string]string // fields that have no effect, and why
	defaults []model.Pair      // arguments whose defaults differ from the agent's, by path
}

// Of returns an integration by its name in the agent, or nil for one that Alloy does not have under any name.
func Of(name string) *Kind {
	k, known := table()[name]
	if !known {
		return nil
	}
	k.Name = name
	return &k
}

// Names of components that are not exporters.
const (
	Faro   = "faro.receiver"
	Events = "loki.source.kubernetes_events"
)

// Self is the integration with the metrics of the program itself.
const Self = "agent"

const (
	newer    = "the exporter is a newer version: some of its metrics have other names or labels"
	another  = "the exporter is another program: its metrics are different ones"
	ownNames = "its metrics begin with alloy_ instead of agent_"
)

// exporter is the name of the component of an exporter.
func exporter(name string) string { return "prometheus.exporter." + name }

// table has the integrations by their names in the agent.
var table = sync.OnceValue(func() map[string]Kind {
	return map[string]Kind{
		Self:          {Native: true, Component: exporter("self"), Differs: ownNames},
		"apache_http": {Native: true, Component: exporter("apache")},
		"azure": {Component: exporter("azure"), Differs: newer,
			defaults: []model.Pair{{Key: "timespan", Value: model.String("PT1M")}}},
		"blackbox": {Native: true, Component: exporter("blackbox"), Targets: "blackbox_targets",
			TargetLabel: "blackbox_target",
			convert: map[string]func(*arguments, model.Value){
				"blackbox_config":      (*arguments).blackboxConfig,
				"blackbox_targets":     to("target"),
				"probe_timeout_offset": (*arguments).probeTimeoutOffset,
			}},
		"cadvisor": {Component: exporter("cadvisor"), Differs: newer,
			names: map[string]string{"containerd": "containerd_host", "docker": "docker_host",
				"docker_tls": "use_docker_tls"}},
		"cloudwatch": {Component: exporter("cloudwatch"), Differs: newer,
			convert: map[string]func(*arguments, model.Value){
				"discovery": (*arguments).cloudwatchDiscovery,
				"static":    (*arguments).cloudwatchStatic,
			},
			defaults: []model.Pair{{Key: "fips_disabled", Value: model.Bool(false)}}},
		"consul": {Component: exporter("consul")},
		"dnsmasq": {Component: exporter("dnsmasq"), Differs: newer,
			names: map[string]string{"dnsmasq_address": "address", "leases_path": "leases_file"}},
		"elasticsearch": {Component: exporter("elasticsearch")},
		"gcp":           {Component: exporter("gcp"), Differs: newer},
		"github":        {Component: exporter("github"), Differs: newer},
		"kafka": {Component: exporter("kafka"), convert: map[string]func(*arguments, model.Value){
			"instance": to("instance"), // several brokers have no name of their own
		}},
		"memcached": {Component: exporter("memcached"), names: map[string]string{"memcached_address": "address",
			"tls_config.ca": "ca_pem", "tls_config.cert": "cert_pem", "tls_config.key": "key_pem"}},
		"mongodb": {Component: exporter("mongodb"), Differs: newer,
			refused: map[string]string{
				"tls_basic_auth_config_path": "leave it out: it is about requests to the exporter, which only Alloy " +
					"makes"},
			defaults: []model.Pair{{Key: "direct_connect", Value: model.Bool(true)}}},
		"mssql": {Component: exporter("mssql"), Differs: newer,
			convert: map[string]func(*arguments, model.Value){"query_config": toText("query_config")}},
		"mysql":         {Component: exporter("mysql"), Differs: newer, names: mysqlNames()},
		"node_exporter": {Component: exporter("unix"), Differs: newer, names: unixNames()},
		"oracledb": {Component: exporter("oracledb"), Differs: another,
			names: map[string]string{"max_idle_connections": "max_idle_conns",
				"max_open_connections": "max_open_conns"}},
		"postgres": {Component: exporter("postgres"), Differs: newer, names: map[string]string{
			"autodiscover_databases": "autodiscovery.enabled", "exclude_databases": "autodiscovery.database_denylist",
			"include_databases": "autodiscovery.database_allowlist",
			"query_path":        "custom_queries_config_path", "enabledcollectors": "enabled_collectors"}},
		"process": {Component: exporter("process"), Differs: newer,
			convert: map[string]func(*arguments, model.Value){"process_names": to("matcher")}},
		"redis": {Component: exporter("redis"), Differs: newer},
		"snmp": {Native: true, Component: exporter("snmp"), Differs: newer, Targets: "snmp_targets",
			TargetLabel: "snmp_target",
			convert: map[string]func(*arguments, model.Value){
				"snmp_config":  toText("config"),
				"snmp_targets": (*arguments).snmpTargets,
				"walk_params":  (*arguments).walkParams,
			}},
		"snowflake": {Component: exporter("snowflake"), Differs: newer},
		"squid": {Component: exporter("squid"), Differs: newer,
			ignored: map[string]string{"host": "the agent takes it from the address",
				"port": "the agent takes it from the address"}},
		"statsd": {Component: exporter("statsd"), Differs: newer,
			refused: map[string]string{
				"mapping_config": "put it into a ConfigMap that spec.configMaps lists, and name its file in " +
					"mapping_config_path, a field that the pipeline has to add in spec.integrations"}},
		"windows": {Component: exporter("windows"), Differs: another},
		"vsphere": {Instead: "render its GrafanaAgent with the runtime agent, or collect vSphere with another " +
			"program, such as vmware_exporter, and a ServiceMonitor"},
		"app_agent_receiver": {Native: true, Component: Faro, Differs: "its own metrics are among those of Alloy",
			convert: map[string]func(*arguments, model.Value){
				"server":      (*arguments).faroServer,
				"sourcemaps":  (*arguments).faroSourcemaps,
				"logs_labels": to("extra_log_labels"),
			},
			ignored: map[string]string{"logs_send_timeout": "Alloy waits until a line is taken"}},
		"eventhandler": {Component: Events, Differs: "the text of lines has other keys",
			names: map[string]string{"kubeconfig_path": "client.kubeconfig_file"},
			convert: map[string]func(*arguments, model.Value){
				"namespace": (*arguments).eventNamespace,
			},
			ignored: map[string]string{
				"cache_path":      "Alloy keeps what it has sent in its own storage",
				"send_timeout":    "Alloy waits until a line is taken",
				"informer_resync": "Alloy asks the API server once and then watches",
				"flush_interval":  "Alloy keeps what it has sent after each event",
			},
			defaults: []model.Pair{{Key: "job_name", Value: model.String("integrations/kubernetes/eventhandler")}}},
	}
})
