package integration

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/model"
)

// TestConversion holds what becomes of values.
func TestConversion(t *testing.T) {
	got := Default().Check(Input{Name: "statsd", Strict: true, Config: map[string]any{
		"mapping_config": map[string]any{"null": nil, "empty": map[string]any{}, "list": []any{nil, "a", nil, []any{}},
			"big": json.Number("12345678901234567890")},
		"listen_udp": "0x10", "cache_size": json.Number("9007199254740993"), "parse_librato_tags": true,
		"read_buffer": int64(-1), "event_queue_size": 7, "relay_packet_length": uint64(8), "event_flush_interval": nil,
		"relay_addr": "",
	}})
	want := model.Map{
		{Key: "cache_size", Value: model.Number("9007199254740993")},
		{Key: "event_queue_size", Value: model.Number("7")},
		{Key: "listen_udp", Value: model.String("0x10")},
		{Key: "mapping_config", Value: model.Map{
			{Key: "big", Value: model.Number("12345678901234567890")},
			{Key: "empty", Value: model.Map{}},
			{Key: "list", Value: model.List{model.String("a"), model.List{}}},
		}},
		{Key: "parse_librato_tags", Value: model.Bool(true)},
		{Key: "read_buffer", Value: model.Number("-1")},
		{Key: "relay_addr", Value: model.String("")},
		{Key: "relay_packet_length", Value: model.Number("8")},
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if hasErrors(got.Findings) {
		t.Error(describe(got.Findings))
	}
}

// TestFindings holds what is found, by the text of a configuration.
func TestFindings(t *testing.T) {
	redis := Input{Name: "redis", Strict: true}
	for name, c := range map[string]struct {
		in     Input
		config string
		want   string
	}{
		"an unknown integration": {Input{Name: "mysqld", Strict: true}, "{}", `
error[unknown-integration] spec.name: "mysqld" is not an integration of agent v0.44.8 (did you mean mysql?)`},
		"an unknown integration of a newer agent": {Input{Name: "nginx"}, "{a: {b: null}}", `
warning[unknown-integration] spec.name: "nginx" is not an integration of agent v0.44.8 (add it to the catalogue in the pipeline file (spec.integrations) if your agent knows it)`},
		"the key for the name": {Input{Name: "mysql_configs", Strict: true}, "{}", `
error[unknown-integration] spec.name: "mysql_configs" is not an integration of agent v0.44.8 (write mysql)`},
		"an old name": {Input{Name: "redis_exporter", Strict: true}, "redis_addr: a", `
info[old-integration-name] spec.name: the agent calls redis_exporter redis: it is rendered under that name (write redis)`},
		"no mapping": {Input{Name: "agent", Strict: true}, "[a]", `
error[invalid-integration-config] spec.config: is a list, and must be a mapping`},
		"a newer agent may know better": {Input{Name: "redis"}, "{redis_addr: a, new_field: 1, is_cluster: 1}", `
warning[invalid-integration-config] spec.config.is_cluster: is a number, and the agent wants a boolean
warning[unknown-integration-field] spec.config.new_field: new_field is not a field of redis that the agent knows`},
		"any depth": {redis, `{redis_addr: a, extra_labels: {x: [1], z: {z: 1}}, autoscrape: {relabel_configs: [a, {source_labels: a, modulus: x}]}}`, `
error[invalid-integration-config] spec.config.autoscrape.relabel_configs[0]: is a text, and the agent wants a mapping
error[invalid-integration-config] spec.config.autoscrape.relabel_configs[1].modulus: is a text, and the agent wants a whole number
error[invalid-integration-config] spec.config.autoscrape.relabel_configs[1].source_labels: is a text, and the agent wants a list of texts (write it as a list of one item)
error[invalid-integration-config] spec.config.extra_labels.x: is a list, and the agent wants a text
error[invalid-integration-config] spec.config.extra_labels.z: is a mapping, and the agent wants a text`},
		"numbers that are none": {Input{Name: "mysql", Strict: true},
			"{data_source_name: /, lock_wait_timeout: 1.0e+20}", `
error[invalid-integration-config] spec.config.lock_wait_timeout: 1e+20 is larger than the agent's whole numbers`},
		"a variable in the place of everything": {redis,
			`{redis_addr: "${ADDR}", is_cluster: "${CLUSTER}", connection_timeout: "${T}s", check_keys: "${A}=b=c", autoscrape: {relabel_configs: [{regex: "(${A}"}]}}`, ``},
		"a variable in a number, with something else": {redis,
			`{redis_addr: a, max_distinct_key_groups: "${A} # x", check_key_groups_batch_size: "${A:-1}0"}`, `
error[invalid-integration-config] spec.config.max_distinct_key_groups: is a text, and the agent wants a whole number (write the variable alone)`},
		"node_exporter on one node": {Input{Name: "node_exporter", Strict: true}, "{}", `
warning[integration-type] spec.type.allNodes: node_exporter is about the node that it runs on: this way only one node is measured (set allNodes: true)`},
		"node_exporter as a normal MetricsIntegration": {Input{Name: "node_exporter", Strict: true,
			Kind: MetricsIntegration}, "{}", `
error[integration-type] spec.type: node_exporter is about the node that it runs on: this way only one node is measured (write daemonset)`},
		"mysql on every node": {Input{Name: "mysql", Strict: true, AllNodes: true}, "data_source_name: root@(db:3306)/",
			`
warning[integration-type] spec.type.allNodes: mysql asks something that is not the node: this way every node asks it, and all send the same series (set allNodes: false)`},
		"a local mysql on every node": {Input{Name: "mysql", Strict: true, AllNodes: true},
			"data_source_name: root@(localhost:3306)/", ``},
		"a mysql by variable on every node": {Input{Name: "mysql", Strict: true, AllNodes: true},
			`data_source_name: "root@(${NODE_IP}:3306)/"`, ``},
		"statsd on every node": {Input{Name: "statsd", Strict: true, AllNodes: true}, "{}", ``},
		"eventhandler as MetricsIntegration": {Input{Name: "eventhandler", Strict: true, Kind: MetricsIntegration},
			"{}", `
error[integration-type] spec.name: eventhandler has no metrics, so it cannot be a MetricsIntegration (make it an Integration)`},
		"a MetricsIntegration's own settings": {Input{Name: "redis", Strict: true, Kind: MetricsIntegration},
			"{redis_addr: a, instance: x, autoscrape: {enable: true, metrics_instance: a/b}, extra_labels: " +
				"{__meta_agentoperator_x: a, team: b}}", `
error[integration-instance] spec.config.instance: the instance of a MetricsIntegration is always its namespace/name (leave it out)
error[invalid-label-name] spec.config.extra_labels.__meta_agentoperator_x: labels that begin with __meta_agentoperator_ are set by agentry (choose another name)
warning[invalid-integration-config] spec.config.autoscrape.enable: a MetricsIntegration never scrapes itself: this is rendered as false (use an Integration, or collect it by an IntegrationMonitor)`},
		"labels that the sd-aggregator refuses": {Input{Name: "redis", Strict: true, Kind: MetricsIntegration},
			"{redis_addr: a, extra_labels: {__meta_x: a, __param_x: a, __address__: a, __metrics_path__: a, " +
				"__scheme__: http, __tmp_x: a, __: a}}", `
error[invalid-label-name] spec.config.extra_labels.__: the sd-aggregator refuses targets with the label __: no IntegrationMonitor would find it (choose a name that does not begin with __)
error[invalid-label-name] spec.config.extra_labels.__tmp_x: the sd-aggregator refuses targets with the label __tmp_x: no IntegrationMonitor would find it (choose a name that does not begin with __)`},
		"several brokers of a MetricsIntegration": {Input{Name: "kafka", Strict: true, Kind: MetricsIntegration},
			"kafka_uris: [a:1, b:1]", ``},
		"a timeout above the interval": {redis,
			"{redis_addr: a, autoscrape: {enable: true, scrape_interval: 10s, scrape_timeout: 20s}}", `
error[timeout-above-interval] spec.config.autoscrape.scrape_timeout: the scrape timeout (20s) is longer than the scrape interval (10s): the agent would not start`},
		"an interval below the agent's timeout": {redis,
			"{redis_addr: a, autoscrape: {enable: true, scrape_interval: 5s}}", `
error[timeout-above-interval] spec.config.autoscrape.scrape_interval: the scrape timeout (10s) is longer than the scrape interval (5s): the agent would not start`},
		"a timeout below the GrafanaAgent's interval": {Input{Name: "redis", Strict: true,
			ScrapeInterval: 3 * time.Minute},
			"{redis_addr: a, autoscrape: {enable: true, scrape_timeout: 2m}}", ``},
		"a timeout that is not used": {redis,
			"{redis_addr: a, autoscrape: {enable: false, scrape_interval: 10s, scrape_timeout: 20s}}", ``},
		"labels of logs": {Input{Name: "eventhandler", Strict: true}, "{logs_instance: a/b, extra_labels: {a-b: c}}", `
warning[invalid-label-name] spec.config.extra_labels.a-b: "a-b" is not a label name: the logs would be refused (use letters, digits and underscores)`},
		"a data source in the environment": {Input{Name: "postgres", Strict: true, Defines: func(s string) bool {
			return s == "POSTGRES_EXPORTER_DATA_SOURCE_NAME"
		}}, "{}", ``},
	} {
		got := strings.ReplaceAll(describe(Default().Check(with(t, c.in, c.config)).Findings), "# ", "")
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), strings.TrimSuffix(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func with(t testing.TB, in Input, config string) Input {
	in.Config = decode(t, config)
	return in
}

func TestVariablesThatAreNoTexts(t *testing.T) {
	got := Default().Check(with(t, Input{Name: "redis", Strict: true},
		`{redis_addr: "${ADDR}", is_cluster: "${CLUSTER}", max_distinct_key_groups: "${A:-10}", connection_timeout: "$(T)s"}`))
	want := model.Map{
		{Key: "connection_timeout", Value: model.String("$(T)s")},
		{Key: "is_cluster", Value: model.Variable("${CLUSTER}")},
		{Key: "max_distinct_key_groups", Value: model.Variable("${A:-10}")},
		{Key: "redis_addr", Value: model.String("${ADDR}")},
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.InstanceKnown {
		t.Errorf("the instance of ${ADDR} is known: %q", got.Instance)
	}
}

func TestReferences(t *testing.T) {
	type refs struct{ Metrics, Logs, Traces []Reference }
	for name, c := range map[string]struct {
		in     string
		config string
		want   refs
	}{
		"off by default": {"agent", "{}", refs{}},
		"off":            {"agent", "autoscrape: {enable: false, metrics_instance: a/b}", refs{}},
		"on": {"agent", "autoscrape: {enable: true, metrics_instance: a/b}",
			refs{Metrics: []Reference{{"spec.config.autoscrape.metrics_instance", "a/b"}}}},
		"on, by default": {"agent", "autoscrape: {enable: true}",
			refs{Metrics: []Reference{{"spec.config.autoscrape.enable", "default"}}}},
		"on, by a variable": {"agent", `autoscrape: {enable: true, metrics_instance: "${X}"}`, refs{}},
		"events": {"eventhandler", "logs_instance: a/b",
			refs{Logs: []Reference{{"spec.config.logs_instance", "a/b"}}}},
		"events, by default": {"eventhandler", "{}", refs{Logs: []Reference{{"spec.config", "default"}}}},
		"a receiver": {"app_agent_receiver", "{logs_instance: a/b, traces_instance: c}",
			refs{Logs: []Reference{{"spec.config.logs_instance", "a/b"}},
				Traces: []Reference{{"spec.config.traces_instance", "c"}}}},
		"a receiver of nothing": {"app_agent_receiver", `{logs_instance: ""}`, refs{}},
	} {
		got := Default().Check(with(t, Input{Name: c.in, Strict: true}, c.config))
		if diff := cmp.Diff(c.want, refs{got.MetricsInstances, got.LogsInstances, got.TracesInstances}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		name, config string
		want         int
	}{
		{"redis", "redis_addr: a", 1},
		{"node_exporter", "{}", 1},
		{"windows", "{}", 0},
		{"eventhandler", "{}", 0},
		{"blackbox", "{}", 0},
		{"blackbox", "blackbox_targets: [{name: a, address: b}, null, {name: c, address: d}]", 2},
		{"snmp", "snmp_targets: [{name: a, address: b}]", 1},
		{"nginx", "{}", 0},
	} {
		if got := Default().Check(with(t, Input{Name: c.name}, c.config)).Targets; got != c.want {
			t.Errorf("%s with %s: %d targets, want %d", c.name, c.config, got, c.want)
		}
	}
}

func TestValuesThatNoConfigurationHolds(t *testing.T) {
	got := Default().Check(Input{Name: "statsd",
		Config: map[string]any{"cache_size": math.NaN(), "read_buffer": struct{}{}}})
	want := "# error[invalid-integration-config] spec.config.cache_size: is not a value that a configuration can hold\n" +
		"# error[invalid-integration-config] spec.config.read_buffer: is not a value that a configuration can hold\n"
	if diff := cmp.Diff(want, describe(got.Findings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
