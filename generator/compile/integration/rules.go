package integration

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
)

// rules are the checks that the agent makes when it starts, beyond the types of fields. The keys are paths: the
// integration, then fields. The agent also opens files and connections then (kafka its brokers, gcp its
// credentials, redis its password file), which cannot be checked from Git.
var rules = map[string]rule{
	"apache_http":   func(o object) { o.absoluteURL("scrape_uri") },
	"azure":         azure,
	"consul":        consul,
	"elasticsearch": func(o object) { o.notEmpty("address") },
	"gcp":           gcp,
	"kafka":         kafka,
	"mssql":         mssql,
	"mysql":         mysql,
	"node_exporter": nodeExporter,
	"oracledb":      oracle,
	"redis":         redis,
	"snowflake":     func(o object) { o.notEmpty("role") },
	"squid":         squid,
	"statsd":        statsd,
	"vsphere":       func(o object) { o.parses("vsphere_url") },

	"blackbox":                                                blackboxModules,
	"blackbox.blackbox_config.modules.http":                   blackboxHTTP,
	"blackbox.blackbox_config.modules.icmp":                   blackboxICMP,
	"blackbox.blackbox_config.modules.http.tls_config":        tlsConfig,
	"blackbox.blackbox_config.modules.http.oauth2.tls_config": tlsConfig,
	"blackbox.blackbox_config.modules.tcp.tls_config":         tlsConfig,
	"blackbox.blackbox_config.modules.dns.tls_config":         tlsConfig,
	"blackbox.blackbox_config.modules.grpc.tls_config":        tlsConfig,
	"cloudwatch.discovery.jobs.roles":                         cloudwatchRole,
	"cloudwatch.discovery.jobs.metrics":                       cloudwatchMetric,
	"cloudwatch.static.roles":                                 cloudwatchRole,
	"cloudwatch.static.metrics":                               cloudwatchMetric,
	"memcached.tls_config":                                    memcachedTLS,
	"mssql.query_config":                                      mssqlQueries,
	"mssql.query_config.metrics":                              mssqlMetric,
	"process.process_names":                                   processMatcher,
	"snmp":                                                    snmp,
	"snmp.snmp_config.auths":                                  snmpAuth,
	"statsd.mapping_config.mappings":                          statsdMapping,
}

// notEmpty refuses an empty text in a field that has a default.
func (o object) notEmpty(field string) {
	if text, known := o.text(field); known && text == "" {
		o.wrong(o.at(field), "leave it out for the default", "%s is empty: the agent would not start", field)
	}
}

// atLeastOne refuses a number below one.
func (o object) atLeastOne(field string) {
	if n, known := o.integer(field); known && n < 1 {
		o.wrong(o.at(field), "", "%s must be at least 1", field)
	}
}

// hasFinding reports whether there is a finding for a path.
func (o object) hasFinding(path string) bool {
	return slices.ContainsFunc(o.findings, func(f diag.Diagnostic) bool { return f.Path == path })
}

// parses refuses a text that is not a URL.
func (o object) parses(field string) {
	if text, known := o.text(field); known {
		if _, err := url.Parse(text); err != nil {
			o.wrong(o.at(field), "", "%s is not a URL: the agent would not start", field)
		}
	}
}

// absoluteURL refuses a text that is neither a URL with a scheme nor an absolute path.
func (o object) absoluteURL(field string) {
	if text, known := o.text(field); known && !o.hasFinding(o.at(field)) {
		if _, err := url.ParseRequestURI(text); err != nil {
			o.wrong(o.at(field), "", "%s is not an absolute URL, as in http://host/path", field)
		}
	}
}

// explicit reports whether the instance key is given, not inferred.
func (o object) explicit() bool { return o.in.Kind == MetricsIntegration || o.has("instance") }

// mysql checks the data source. When the agent starts, it parses it only to infer the instance key.
func mysql(o object) {
	text, known := o.text("data_source_name")
	if !known || text == "" || !o.explicit() {
		return
	}
	if _, problem := parseMySQL(text); problem != "" {
		o.warn(o.at("data_source_name"), "",
			"data_source_name cannot be parsed (%s): the integration would have no metrics", problem)
	}
}

func azure(o object) {
	known := []string{"minimum", "maximum", "average", "total", "count"}
	texts, paths := o.texts("metric_aggregations")
	for i, text := range texts {
		if !slices.Contains(known, strings.ToLower(text)) {
			o.warn(paths[i], oneOf(text, known),
				"%q is not an aggregation that the agent knows: the integration would have no metrics", text)
		}
	}
	clouds := []string{"azurecloud", "azurepublic", "azurepubliccloud", "azurechina", "azurechinacloud",
		"azuregovernment", "azuregovernmentcloud", "azureusgovernmentcloud",
		"azureprivate", "azurepprivatecloud"}
	if text, known := o.text("azure_cloud_environment"); known && !slices.Contains(clouds, strings.ToLower(text)) {
		o.wrong(o.at("azure_cloud_environment"), oneOf(text, clouds),
			"%q is not a cloud that the agent knows: it would panic", text)
	}
	if o.given("regions") && o.given("resource_graph_query_filter") {
		o.warn(o.at("resource_graph_query_filter"), "put the regions into the filter",
			"regions and resource_graph_query_filter exclude each other: the integration would have no metrics")
	}
}

func consul(o object) {
	o.together("cert_file", "key_file")
	text, known := o.text("server")
	if !known {
		return
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		o.wrong(o.at("server"), "", "server is not an http or https URL: the agent would not start")
	}
}

func gcp(o object) {
	prefixes, _ := o.texts("metrics_prefixes")
	filters, paths := o.texts("extra_filters")
	for i, f := range filters {
		prefix, _, ok := strings.Cut(f, ":")
		switch {
		case !ok:
			o.wrong(paths[i], "", "%q is not of the form <metric type>:<filter>", f)
		case len(prefixes) == len(o.items("metrics_prefixes")) && !slices.ContainsFunc(prefixes, func(p string) bool {
			return strings.HasPrefix(p, prefix)
		}):
			o.wrong(paths[i], "", "none of metrics_prefixes begins with %s: the agent would not start", prefix)
		}
	}
}

func kafka(o object) {
	if brokers := o.items("kafka_uris"); len(brokers) > 0 && brokers[0] == "" {
		o.wrong(o.at("kafka_uris")+"[0]", "", "is empty: the agent would not start")
	}
	o.needs("use_tls", "cert_file", "key_file")
	o.needs("use_sasl", "sasl_username", "sasl_password")
	o.needs("use_zookeeper_lag", "zookeeper_uris")
	if text, known := o.text("sasl_mechanism"); known && o.boolean("use_sasl") {
		if m := []string{"plain", "scram-sha256", "scram-sha512", "gssapi"}; !slices.Contains(m,
			strings.ToLower(text)) {
			o.wrong(o.at("sasl_mechanism"), oneOf(text, m), "sasl_mechanism %q is not one that the agent knows", text)
		}
	}
	if text, known := o.text("kafka_version"); known && !isKafkaVersion(text) {
		o.wrong(o.at("kafka_version"), "", "%q is not a version of Kafka, as 2.0.0 is", text)
	}
}

// isKafkaVersion accepts versions such as 1.2.3 and 0.1.2.3.
func isKafkaVersion(s string) bool {
	parts := strings.Split(s, ".")
	want := 3
	if parts[0] == "0" {
		want = 4
	}
	return len(parts) == want && !slices.ContainsFunc(parts, func(p string) bool {
		_, err := strconv.ParseUint(p, 10, 32)
		return err != nil
	})
}

func nodeExporter(o object) {
	for _, f := range [...][2]string{
		{"netdev_device_whitelist", "netdev_device_include"},
		{"netdev_device_blacklist", "netdev_device_exclude"},
		{"systemd_unit_whitelist", "systemd_unit_include"},
		{"systemd_unit_blacklist", "systemd_unit_exclude"},
		{"filesystem_ignored_mount_points", "filesystem_mount_points_exclude"},
		{"filesystem_ignored_fs_types", "filesystem_fs_types_exclude"},
		{"diskstats_ignored_devices", "diskstats_device_exclude"},
	} {
		o.exclusive(f[1], f[0])
	}
	for _, include := range []string{"netdev_device_include", "netdev_device_whitelist"} {
		o.exclusive(include, "netdev_device_exclude")
		o.exclusive(include, "netdev_device_blacklist")
	}
}

func oracle(o object) {
	text, known := o.text("connection_string")
	if !known || text == "" {
		return
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "oracle" || u.Hostname() == "" {
		o.wrong(o.at("connection_string"), "",
			"connection_string is not of the form oracle://user:password@host:1521/service: the agent would not start")
	}
}

func redis(o object) {
	o.together("tls_client_cert_file", "tls_client_key_file")
	o.exclusive("redis_password_file", "redis_password_map_file")
	if text, known := o.text("namespace"); known && text != "" && !model.IsValidLegacyMetricName(text) {
		o.wrong(o.at("namespace"), "", "%q cannot begin the name of a metric: the agent would not start", text)
	}
	for _, field := range []string{"check_keys", "check_single_keys", "check_streams", "check_single_streams",
		"count_keys"} {
		text, known := o.text(field)
		if !known {
			continue
		}
		for key := range strings.SplitSeq(text, ",") {
			if !isRedisKey(key) {
				o.wrong(o.at(field), "", "%q is neither a key nor of the form db<number>=<key>", key)
				break
			}
		}
	}
}

// isRedisKey accepts a key with or without its database, escaped as in a URL.
func isRedisKey(s string) bool {
	db, key, hasDB := strings.Cut(s, "=")
	if !hasDB {
		db, key = "0", s
	}
	db = strings.ReplaceAll(strings.TrimSpace(db), "db", "")
	key, err := url.QueryUnescape(strings.TrimSpace(key))
	if strings.Count(s, "=") > 1 || err != nil {
		return false
	}
	n, err := strconv.Atoi(db)
	return db == "" || key == "" || err == nil && n >= 0
}

func squid(o object) {
	text, known := o.text("address")
	if !known || text == "" {
		return
	}
	host, port, ok := splitHostPort(text)
	if _, err := strconv.Atoi(port); !ok || host == "" || err != nil {
		o.wrong(o.at("address"), "", "address %q is not of the form host:port: the agent would not start", text)
	}
}

// tlsConfig is the rule for TLS blocks of Prometheus's own type.
func tlsConfig(o object) {
	o.exclusive("ca", "ca_file")
	o.exclusive("cert", "cert_file")
	o.exclusive("key", "key_file")
	cert, key := o.given("cert") || o.given("cert_file"), o.given("key") || o.given("key_file")
	switch {
	case cert && !key:
		o.wrong(o.path, "", "a client certificate needs its key as well")
	case key && !cert:
		o.wrong(o.path, "", "a client key needs its certificate as well")
	}
}

// memcachedTLS is the rule for a TLS block that the agent loads when it starts.
func memcachedTLS(o object) {
	tlsConfig(o)
	const hint = "paste the text of the file, or name the file in %s_file"
	if ca, known := o.text("ca"); known && ca != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		o.wrong(o.at("ca"), fmt.Sprintf(hint, "ca"), "ca is not a certificate in PEM: the agent would not start")
	}
	cert, certKnown := o.text("cert")
	key, keyKnown := o.text("key")
	if !certKnown || !keyKnown || cert == "" || key == "" {
		return
	}
	if _, err := tls.X509KeyPair([]byte(cert), []byte(key)); err != nil {
		o.wrong(o.at("cert"), fmt.Sprintf(hint, "cert"),
			"cert and key are not a certificate and its key in PEM: the agent would not start")
	}
}

func processMatcher(o object) {
	if !o.has("comm") && !o.has("exe") && !o.has("cmdline") {
		o.wrong(o.path, "", "has none of comm, exe and cmdline: the agent would not start")
	}
	if text, known := o.text("name"); known {
		if _, err := template.New("").Parse(text); err != nil {
			o.wrong(o.at("name"), "", "%q is not a template", text)
		}
	}
}

func cloudwatchRole(o object) {
	if o.given("external_id") && !o.given("role_arn") {
		o.wrong(o.path, "", "external_id needs role_arn as well: the agent would not start")
	}
}

// cloudwatchMetric checks that the requested time covers a whole period.
func cloudwatchMetric(o object) {
	const defaultPeriod = 5 * time.Minute
	period, ok1 := o.duration("period")
	length, ok2 := o.duration("length")
	switch {
	case !ok1 || !ok2:
		return
	case period < 0:
		o.wrong(o.at("period"), "", "period must be above zero")
		return
	case period < time.Second:
		period = defaultPeriod
	}
	if length != 0 && length.Truncate(time.Second) < period.Truncate(time.Second) {
		o.wrong(o.at("length"), "", "length is shorter than period (%v): the agent would not start", period)
	}
}

// duration returns a field's duration, and false if it is unknown.
func (o object) duration(field string) (time.Duration, bool) {
	text, known := o.text(field)
	if !known || text == "" {
		return 0, known
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

func isDuration(s string) bool {
	_, err := time.ParseDuration(s)
	return err == nil
}

// keys returns the keys of the mapping in a field, sorted.
func (o object) keys(field string) []string {
	m, _ := o.values[field].(map[string]any)
	return slices.Sorted(maps.Keys(m))
}
