package handwritten

import "maps"

// newer begins the names of types that have fields of a newer Prometheus.
const newer = "newer "

// newerFields are what came with Prometheus 2.49 and later, by the type that has them.
var newerFields = map[string]map[string]string{
	"metrics": {
		"scrape_protocols": "list of string", "fallback_scrape_protocol": "string",
		"scrape_native_histograms": "bool", "convert_classic_histograms_to_nhcb": "bool",
		"native_histogram_min_bucket_factor": "float64",
		"enable_compression":                 "bool", "metric_name_validation_scheme": "string",
		"metric_name_escaping_scheme": "string",
		"docker_sd_configs":           "list of " + newer + "moby.DockerSDConfig",
		"linode_sd_configs":           "list of " + newer + "linode.SDConfig",
		"dns_sd_configs":              "list of " + newer + "dns.SDConfig",
	},
	"moby.DockerSDConfig": {"match_first_network": "bool"},
	"linode.SDConfig":     {"region": "string"},
	"dns.SDConfig":        {},
}

// addNewer adds the types with newer fields, and what is required of them.
func addNewer(types map[string]*schemaType, known map[string]constraint) {
	for name, fields := range newerFields {
		t := &schemaType{Inline: types[name].Inline, Fields: maps.Clone(types[name].Fields)}
		maps.Copy(t.Fields, fields)
		types[newer+name], known[newer+name] = t, known[name]
	}
	formats := []string{"PrometheusProto", "PrometheusText0.0.4", "PrometheusText1.0.0", "OpenMetricsText0.0.1",
		"OpenMetricsText1.0.0"}
	known[newer+"metrics"] = constraint{rule: func(o object) {
		staticTargets(o)
		for _, n := range o.items("scrape_protocols") {
			o.oneOf(n, "scrape_protocols", formats)
		}
	}, values: map[string][]string{
		"fallback_scrape_protocol":      formats,
		"metric_name_validation_scheme": {"utf8", "legacy"},
		"metric_name_escaping_scheme":   {"allow-utf-8", "underscores", "dots", "values"},
	}}
	known[newer+"dns.SDConfig"] = constraint{required: known["dns.SDConfig"].required, rule: func(o object) {
		dnsRecords(o, "NS")
	}}
}
