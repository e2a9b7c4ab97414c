package handwritten

import (
	"maps"
)

// constraint holds the requirements of the agent's code for a type, in addition to the types of its fields.
type constraint struct {
	required  []string
	values    map[string][]string // all valid values, by field
	rule      rule
	inherited []rule // the rules of inlined types
}

// constraints returns the constraints by the name of their type.
func constraints() map[string]constraint {
	all := prometheusConstraints()
	maps.Copy(all, promtailConstraints())
	return all
}

// prometheusConstraints come from Prometheus's configuration and service discoveries (UnmarshalYAML of the agent's fork
// of January 2024) and from common/config v0.53.0.
func prometheusConstraints() map[string]constraint {
	type values = map[string][]string
	return map[string]constraint{
		"metrics":                 {rule: staticTargets},
		"relabel.Config":          {rule: relabelRule},
		"config.HTTPClientConfig": {rule: httpClient},
		"config.ProxyConfig":      {rule: proxy},
		"config.TLSConfig":        {rule: tlsClient},
		"aws.EC2Filter":           {required: []string{"values"}},
		"aws.EC2SDConfig":         {rule: region},
		"aws.LightsailSDConfig":   {rule: region},
		"azure.SDConfig": {required: []string{"subscription_id"},
			values: values{"authentication_method": {"OAuth", "ManagedIdentity"}}, rule: azure},
		"consul.SDConfig":           {rule: consul},
		"consulagent.SDConfig":      {rule: notBlank("server")},
		"dns.SDConfig":              {required: []string{"names"}, rule: dns},
		"eureka.SDConfig":           {required: []string{"server"}, rule: absoluteURL("server")},
		"file.SDConfig":             {required: []string{"files"}, rule: files},
		"gce.SDConfig":              {required: []string{"project", "zone"}},
		"hetzner.SDConfig":          {required: []string{"role"}, values: values{"role": {"robot", "hcloud"}}},
		"http.SDConfig":             {required: []string{"url"}, rule: absoluteURL("url", "http", "https")},
		"ionos.SDConfig":            {required: []string{"datacenter_id"}},
		"kubernetes.SDConfig":       {required: []string{"role"}, values: values{"role": roles()}, rule: kubernetes},
		"kubernetes.SelectorConfig": {values: values{"role": roles()}, rule: selector},
		"marathon.SDConfig":         {required: []string{"servers"}, rule: marathon},
		"moby.DockerSDConfig":       {required: []string{"host"}, rule: parsedURL("host")},
		"moby.DockerSwarmSDConfig": {required: []string{"host", "role"},
			values: values{"role": {"services", "nodes", "tasks"}}, rule: parsedURL("host")},
		"nomad.SDConfig": {rule: notBlank("server")},
		"openstack.SDConfig": {required: []string{"role", "region"},
			values: values{"role": {"instance", "hypervisor"}, "availability": {"public", "internal", "admin"}}},
		"ovhcloud.SDConfig": {required: []string{"application_key", "application_secret", "consumer_key",
			"service"}, values: values{"service": {"dedicated_server", "vps"}}, rule: notBlank("endpoint")},
		"puppetdb.SDConfig": {required: []string{"url", "query"}, rule: absoluteURL("url", "http", "https")},
		"scaleway.SDConfig": {required: []string{"role", "project_id", "access_key"},
			values: values{"role": {"instance", "baremetal"}}, rule: scaleway},
		"triton.SDConfig": {required: []string{"account", "dns_suffix", "endpoint"},
			values: values{"role": {"container", "cn"}}, rule: triton},
		"uyuni.SDConfig": {required: []string{"server", "username", "password"},
			rule: parsedURL("server")},
		"xds.SDConfig":                {required: []string{"server"}, rule: absoluteURL("server")},
		"zookeeper.NerveSDConfig":     {required: []string{"servers", "paths"}, rule: zookeeperPaths},
		"zookeeper.ServersetSDConfig": {required: []string{"servers", "paths"}, rule: zookeeperPaths},
	}
}

// promtailConstraints come from Promtail's scrape configurations and stages, and from the checks of its targets when
// they start (Loki k190).
func promtailConstraints() map[string]constraint {
	type values = map[string][]string
	return map[string]constraint{
		"logs": {rule: logsJob},
		"scrapeconfig.AzureEventHubsTargetConfig": {required: []string{"fully_qualified_namespace", "event_hubs"}},
		"scrapeconfig.CloudflareConfig": {required: []string{"api_token", "zone_id"},
			values: values{"fields_type": {"default", "minimal", "extended", "all", "custom", ""}}},
		"scrapeconfig.GcplogTargetConfig": {values: values{"subscription_type": {"pull", "push", ""}},
			rule: gcplog},
		"scrapeconfig.JournalTargetConfig": {rule: journal},
		"scrapeconfig.KafkaAuthentication": {values: values{"type": {"none", "ssl", "sasl", ""}},
			rule: kafkaAuthentication},
		"scrapeconfig.KafkaTargetConfig": {required: []string{"brokers", "topics"},
			values: values{"assignor": {"sticky", "roundrobin", "range", ""}}, rule: kafka},
		"scrapeconfig.SyslogTargetConfig": {values: values{"listen_protocol": {"tcp", "udp", ""}},
			rule: syslog},
		"server.Config": {values: values{"log_level": {"debug", "info", "warn", "error"}}},
		"server.TLSConfig": {values: values{"client_auth_type": {"NoClientCert",
			"RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert", ""}}},
		"metric":                {required: []string{"type"}},
		"stage eventlogmessage": {rule: labelSource},
		"stage geoip":           {required: []string{"db", "db_type"}, rule: notEmpty("source")},
		"stage json":            {rule: notEmpty("source")},
		"stage limit":           {rule: limit},
		"stage logfmt":          {required: []string{"mapping"}, rule: notEmpty("source")},
		"stage match":           {rule: notEmpty("pipeline_name")},
		"stage multiline":       {rule: multiline},
		"stage regex":           {rule: notEmpty("source")},
		"stage replace":         {rule: notEmpty("source")},
		"stage sampling":        {rule: sampling},
		"stage drop":            {rule: drop},
		"stage timestamp":       {rule: notEmpty("action_on_failure")},
	}
}

// roles are the kinds of targets that Prometheus discovers in Kubernetes.
func roles() []string {
	return []string{"pod", "service", "endpoints", "endpointslice", "node", "ingress"}
}
