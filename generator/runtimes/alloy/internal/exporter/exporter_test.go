package exporter

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
)

func m(pairs ...model.Pair) model.Map { return pairs }

func p(key string, v model.Value) model.Pair { return model.Pair{Key: key, Value: v} }

// TestArguments converts one configuration for each rule of the table.
func TestArguments(t *testing.T) {
	for name, test := range map[string]struct {
		of       string
		config   model.Map
		want     string // the arguments, as YAML
		texts    string
		problems string // severity path, one after the other
	}{
		"another name": {of: "dnsmasq", config: m(p("leases_path", model.String("/l"))),
			want: "leases_file: /l\n"},
		"into a block": {of: "mysql",
			config: m(p("heartbeat_table", model.String("t")), p("heartbeat_utc", model.Bool(true))),
			want:   "heartbeat:\n  table: t\n  utc: true\n"},
		"of a block": {of: "memcached", config: m(p("tls_config", m(p("ca", model.String("x"))))),
			want: "tls_config:\n  ca_pem: x\n"},
		"another default": {of: "mongodb", want: "direct_connect: true\n"},
		"a default that is set": {of: "mongodb", config: m(p("direct_connect", model.Bool(false))),
			want: "direct_connect: false\n"},
		"about its targets": {of: "consul",
			config: m(p("instance", model.String("x")), p("extra_labels", m(p("a", model.String("b")))),
				p("server", model.String("s"))), want: "server: s\n"},
		"kafka names its instance": {of: "kafka", config: m(p("instance", model.String("x"))), want: "instance: x\n"},
		"a list in a text": {of: "redis", config: m(p("check_keys", model.String("a,,b"))),
			want: "check_keys:\n  - a\n  - b\n"},
		"a variable for a list": {of: "redis", config: m(p("check_keys", model.String("${A}"))),
			want: "check_keys:\n  - \"${A}\"\n", problems: "error check_keys"},
		"a variable for a switch": {of: "redis", config: m(p("incl_system_metrics", model.Variable("${A}"))),
			want: "incl_system_metrics: ${A}\n", problems: "error incl_system_metrics"},
		"nanoseconds": {of: "cadvisor", config: m(p("storage_duration", model.Number("60000000000"))),
			want: "storage_duration: 60000000000ns\n"},
		"seconds": {of: "blackbox", config: m(p("probe_timeout_offset", model.Number("0.25"))),
			want: "probe_timeout_offset: 250ms\n"},
		"a variable for seconds": {of: "blackbox", config: m(p("probe_timeout_offset", model.Variable("${A}"))),
			want: "{}\n", problems: "error probe_timeout_offset"},
		"pings": {of: "blackbox",
			config: m(p("blackbox_config", m(p("modules", m(p("a", m(p("prober", model.String("icmp"))))))))),
			want:   "{}\n", texts: "config: modules:\n  a:\n    prober: icmp\n",
			problems: "warning blackbox_config.modules.a.prober"},
		"nothing like it": {of: "statsd", config: m(p("mapping_config", m())), want: "{}\n",
			problems: "error mapping_config"},
		"no effect": {of: "squid", config: m(p("port", model.Number("1"))), want: "{}\n",
			problems: "warning port"},
		"labels of blocks": {of: "snmp",
			config: m(p("snmp_targets", model.List{m(p("name", model.String("a 1")),
				p("address", model.String("b")))})), want: "target:\n  - <label>: a_X20_1\n    address: b\n"},
		"a name that must stay": {of: "cloudwatch",
			config: m(p("static", model.List{m(p("name", model.String("a-b")))})),
			want:   "static:\n  - <label>: a_b\nfips_disabled: false\n", problems: "error static[0].name"},
		"lists of keys and values": {of: "cloudwatch",
			config: m(p("discovery", m(p("jobs",
				model.List{m(p("search_tags", model.List{m(p("key", model.String("a")),
					p("value", model.String("b")))}))})))),
			want: "discovery:\n  - search_tags:\n      a: b\nfips_disabled: false\n"},
		"events of all namespaces": {of: "eventhandler", config: m(p("namespace", model.String(""))),
			want: "job_name: integrations/kubernetes/eventhandler\n"},
		"events of one namespace": {of: "eventhandler", config: m(p("namespace", model.String("a"))),
			want: "namespaces:\n  - a\njob_name: integrations/kubernetes/eventhandler\n"},
		"a bytes size without units": {of: "app_agent_receiver",
			config: m(p("server", m(p("port", model.Number("1")), p("max_allowed_payload_size", model.Number("5"))))),
			want:   "server:\n  listen_port: 1\n  max_allowed_payload_size: 5B\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(test.of).Arguments(test.config, false)
			var texts, problems []string
			for _, text := range got.Texts {
				texts = append(texts, text.Name+": "+text.YAML)
			}
			for _, problem := range got.Problems {
				problems = append(problems, string(problem.Severity)+" "+problem.Path)
			}
			if values := asYAML(got.Values, false); values != test.want {
				t.Errorf("arguments:\n%swant:\n%s", values, test.want)
			}
			if text := strings.Join(texts, ""); text != test.texts {
				t.Errorf("texts: %q, want %q", text, test.texts)
			}
			if all := strings.Join(problems, " "); all != test.problems {
				t.Errorf("problems: %q, want %q", all, test.problems)
			}
		})
	}
}

// TestTableIsOfComponents: the table names only components and arguments that Alloy has, and what has no component says
// the way out.
func TestTableIsOfComponents(t *testing.T) {
	for name, k := range table() {
		c := catalogue.Get(k.Component)
		if c == nil {
			if k.Component != "" || k.Instead == "" {
				t.Errorf("%s: no component %q", name, k.Component)
			}
			continue
		}
		for field, argument := range k.names {
			if block, _, nested := strings.Cut(field, "."); nested {
				argument = block + "." + argument
			}
			if _, known := c.Fields[argument]; !known {
				t.Errorf("%s: %s has no %s", name, k.Component, argument)
			}
		}
		for _, d := range k.defaults {
			if _, known := c.Fields[d.Key]; !known {
				t.Errorf("%s: %s has no %s", name, k.Component, d.Key)
			}
		}
	}
}

// TestTextsForReviewersHaveNoCredentials: what is redacted is in no text, and all the rest is.
func TestTextsForReviewersHaveNoCredentials(t *testing.T) {
	config := m(p("blackbox_config",
		m(p("user", model.String("u")), p("password", model.Credential{Value: model.String("hunter2")}))))
	text := Of("blackbox").Arguments(config, true).Texts[0].YAML
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "user: u") {
		t.Error(text)
	}
	if text = Of("blackbox").Arguments(config, false).Texts[0].YAML; !strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}
