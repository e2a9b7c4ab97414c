package prometheus

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	alloycheck "github.com/agentry-dev/agentry/test/prometheus/alloy"
)

// oldNames are those of integrations whose label job has another name, from the catalogue of the agent v0.44.8.
var oldNames = map[string]string{
	"azure": "azure_exporter", "cloudwatch": "cloudwatch_exporter", "consul": "consul_exporter",
	"dnsmasq":       "dnsmasq_exporter",
	"elasticsearch": "elasticsearch_exporter", "gcp": "gcp_exporter", "github": "github_exporter",
	"kafka":     "kafka_exporter",
	"memcached": "memcached_exporter", "mongodb": "mongodb_exporter", "mysql": "mysqld_exporter",
	"postgres": "postgres_exporter",
	"process":  "process_exporter", "redis": "redis_exporter", "statsd": "statsd_exporter",
	"windows": "windows_exporter",
}

// ofHost are integrations whose instance is that of the agent, native those whose label job can be replaced, and
// ofTargets those that ask targets of their own.
var (
	ofHost    = []string{"agent", "app_agent_receiver", "cadvisor", "node_exporter", "process", "statsd", "windows"}
	native    = []string{"agent", "apache_http", "blackbox", "snmp"}
	ofTargets = []string{"blackbox", "snmp"}
)

// fieldOf are fields that the agent makes the label instance of, if it is not set: of their host, if they are those of
// ofURL.
var (
	fieldOf = map[string]string{"apache_http": "scrape_uri", "consul": "server", "dnsmasq": "dnsmasq_address",
		"elasticsearch": "address",
		"memcached":     "memcached_address", "redis": "redis_addr", "snowflake": "account_name", "squid": "address"}
	ofURL = []string{"apache_http", "consul", "elasticsearch"}
)

// inAlloy are the exporters that have another name in Alloy.
var inAlloy = map[string]string{"agent": "self", "apache_http": "apache", "node_exporter": "unix"}

// agentsIntegration is an integration in a configuration of the agent.
type agentsIntegration struct {
	name   string
	config map[string]any
	path   string // of its metrics
}

// readIntegrations returns the integrations of a configuration of the agent that have metrics. All variables have
// values.
func readIntegrations(t *testing.T, text string) (out []agentsIntegration) {
	t.Helper()
	var c struct{ Integrations map[string]any }
	if err := yaml.Unmarshal(withTexts(t, text), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, key := range slices.Sorted(maps.Keys(c.Integrations)) {
		name, isList := strings.CutSuffix(key, "_configs")
		if !isList || name == "eventhandler" {
			continue
		}
		list := c.Integrations[key].([]any)
		for n, item := range list {
			one := agentsIntegration{name, item.(map[string]any), "/integrations/" + name + "/metrics"}
			if len(list) > 1 {
				instance, isSet := one.config["instance"].(string)
				if !isSet {
					instance = strconv.Itoa(n) // any other one
				}
				one.path = path.Join("/integrations", name, instance, "metrics")
			}
			out = append(out, one)
		}
	}
	return out
}

func (i agentsIntegration) scrapesItself() bool {
	auto, _ := i.config["autoscrape"].(map[string]any)
	return auto["enable"] == true
}

// instance returns the label instance. It is not known if the agent makes it of several settings, or of its default for
// one.
func (i agentsIntegration) instance(host string) (instance string, known bool) {
	if instance, isSet := i.config["instance"].(string); isSet {
		return instance, true
	}
	switch written, isSet := i.config[fieldOf[i.name]].(string); {
	case slices.Contains(ofTargets, i.name):
		return i.name, true
	case slices.Contains(ofHost, i.name):
		return host, true
	case !isSet:
		return "", false
	case slices.Contains(ofURL, i.name):
		u, err := url.Parse(written)
		return u.Host, err == nil
	default:
		return written, true
	}
}

// targets returns the targets of an integration as the agent's SD API lists them. __meta_url is not among their labels:
// docs/alloy-reference.md says that Alloy has none.
func (i agentsIntegration) targets(address, host string) (out []model.LabelSet) {
	job := i.name
	if old, ok := oldNames[i.name]; ok {
		job = old
	}
	hasTargets := slices.Contains(ofTargets, i.name)
	instance, _ := i.instance(host)
	key, scraped := instance, "0"
	if hasTargets {
		key = i.name
	}
	if i.scrapesItself() {
		scraped = "1"
	}
	set := func(to model.LabelSet, name string, value any) {
		to[model.LabelName(name)] = model.LabelValue(fmt.Sprint(value))
	}
	group := model.LabelSet{}
	for name, value := range map[string]string{"instance": instance, "agent_hostname": host,
		"job":                           "integrations/" + job,
		"__meta_agent_integration_name": i.name, "__meta_agent_integration_instance": key,
		"__meta_agent_integration_autoscrape": scraped} {
		set(group, name, value)
	}
	extra, _ := i.config["extra_labels"].(map[string]any)
	for name, value := range extra {
		if name != "job" || slices.Contains(native, i.name) {
			set(group, name, value)
		}
	}
	set(group, "__address__", address)
	set(group, "__metrics_path__", i.path)
	if !hasTargets {
		return []model.LabelSet{group}
	}
	list, _ := i.config[i.name+"_targets"].([]any)
	for _, item := range list {
		one := group.Clone()
		for name, value := range item.(map[string]any) {
			switch {
			case name == "address":
				set(one, i.name+"_target", value)
				set(one, "__param_target", value)
			case name != "name" && value != nil && value != "":
				set(one, "__param_"+name, value)
			}
		}
		out = append(out, one)
	}
	return out
}

// exported returns the targets that an exporter of Alloy exports.
func exported(b *alloycheck.Block) (out []model.LabelSet) {
	name, id := strings.TrimPrefix(b.Name, "prometheus.exporter."), b.Name+"."+b.Label
	base := model.LabelSet{
		"__address__": "alloy.internal:12345", "__scheme__": "http",
		"__metrics_path__": model.LabelValue("/api/v0/component/" + id + "/metrics"),
		"job":              model.LabelValue("integrations/" + name), "instance": "Alloy's own",
		"__meta_component_name": model.LabelValue(b.Name), "__meta_component_id": model.LabelValue(id),
	}
	if !slices.Contains(ofTargets, name) {
		return []model.LabelSet{base}
	}
	for _, target := range b.All("target") {
		one := base.Clone()
		for field, value := range target.Attrs {
			switch text := model.LabelValue(fmt.Sprint(value)); {
			case field == "address":
				one["__param_target"] = text
			case field != "name" && text != "":
				one[model.LabelName("__param_"+field)] = text
			}
		}
		one["job"] += "/of a target"
		out = append(out, one)
	}
	return out
}

// paramsOf returns the parameters of a URL. In Alloy the name of walk_params is the label of a block.
func paramsOf(t *testing.T, asked string) string {
	t.Helper()
	u, err := url.Parse(asked)
	if err != nil {
		t.Fatal(err)
	}
	params := u.Query()
	if walk := params.Get("walk_params"); walk != "" &&
		strings.HasPrefix(u.Path, alloysPath+"prometheus.exporter.snmp.") {
		params.Set("walk_params", nameOf(walk))
	}
	return params.Encode()
}

// alloysPath begins the path of a component.
const alloysPath = "/api/v0/component/"

var escape = regexp.MustCompile(`_X[0-9a-f]{2}_|_D_|__|_`)

// nameOf returns the name that became the label of a component or block.
func nameOf(label string) string {
	return escape.ReplaceAllStringFunc(label, func(s string) string {
		switch s {
		case "_D_":
			return "."
		case "__":
			return "/"
		case "_":
			return "-"
		}
		code, _ := strconv.ParseUint(s[2:4], 16, 8)
		return string([]byte{byte(code)})
	})
}
