package fields_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/compile/fields"
)

const (
	secretKey = "{name: s, key: k}"
	otherKey  = "{name: s, key: o}"
	id        = "11111111-2222-4333-8444-555555555555"
	otherID   = "22222222-2222-4333-8444-555555555555"
)

// samples are values by the name of a type, or by the end of a path.
var samples = map[string]string{
	"SecretKeySelector": otherKey, "ConfigMapKeySelector": "{name: c, key: o}",
	"LabelSelector": "{matchLabels: {a: b}}", "IntOrString": "8080", "Quantity": "'1.1'",
	"RelabelConfig": "{targetLabel: x, replacement: y}", "Duration": "45s", "NonEmptyDuration": "45s",
	"ByteSize": "10MB", "URL": "http://u.example.com/x",
	"ScrapeProtocol": "PrometheusProto", "NameValidationSchemeOptions": "UTF8", "NameEscapingSchemeOptions": "Dots",
	"TLSVersion":                "TLS13",
	"RemoteWriteMessageVersion": "V2.0", "ServiceDiscoveryRole": "EndpointSlice", "SelectorMechanism": "RoleSelector",
	"Scheme":           "https",
	"ShardingStrategy": "{mode: Topology, topology: {values: [z]}}",
	"ObjectReference":  "{resource: probes, namespace: m, group: monitoring.coreos.com}",
	"SDFile":           "a.json", "ProbeParam": "{name: a, values: [b]}", "Filter": "{name: a, values: [b]}",
	"StaticConfig":      "{targets: [\"a:1\"], labels: {a: b}}",
	"K8SSelectorConfig": "{role: Pod, label: a=b}", "KubernetesRole": "Pod", "OpenStackRole": "Hypervisor",
	"OVHService":    "DedicatedServer",
	"DNSRecordType": "AAAA", "AuthMethodType": "ManagedIdentity", "ScalewayRole": "Baremetal",

	".scrapeTimeout": "5s", ".enableHttp2": "false", ".enableHTTP2": "false", ".followRedirects": "false",
	".honorTimestamps": "false",
	".filterRunning":   "false", ".enableCompression": "false", ".retryOnRateLimit": "false",
	".selectorMechanism": "RoleSelector", ".proxyUrl": "http://p.example.com",
	".noProxy": "a.example.com", ".proxyConnectHeader": "{a: [" + otherKey + "]}", ".params": "{a: [b]}",
	".prober.scheme": "https", ".prober.path": "/p", ".clientId": otherID,
	".tenantId": otherID, ".prober.url": "q:80",
	".excludedFromEnforcement": "[{resource: servicemonitors, namespace: m, group: monitoring.coreos.com}]",
	".cloud":                   "AzureChina",
	".scope":                   "https://monitor.azure.com/.default", ".replicas": "2", ".availability": "Admin",
	".nodeMeta": "{a: b}", ".labels": "{a: b}", ".headers": "{a: b}", ".endpointParams": "{a: b}", ".zone": "pl-waw-1",
	".accessKey": otherKey, ".secretKey": otherKey,
	".scheme": "https", ".metricsPath": "/m", ".path": "/m", ".apiServer": "https://k", ".ownNamespace": "true",
	".projectID":                     otherID,
	".scalewaySDConfigs[].accessKey": "SCW76543210987654321", ".dockerSwarmSDConfigs[].role": "Nodes",
	".hetznerSDConfigs[].role": "Robot",
	".sendInterval":            "45s", ".batchSendDeadline": "45s", ".minBackoff": "45s", ".maxBackoff": "45s",
	".remoteTimeout": "45s", ".url": "https://o.example.com/push",
	".sendExemplars": "false", ".scrapeClass": "c",
	".staticConfigs[].targets": "[\"a:1\"]", ".portNumber": "8080",
}

// needs are what stands beside a field so that the object is right, by an expression for the path. $N are its groups.
var needs = []struct{ path, text string }{
	{`^(.*)basicAuth\..*`, "${1}basicAuth: {username: " + secretKey + ", password: " + secretKey + "}"},
	{`^(.*)authorization\.type`, "${1}authorization: {credentials: " + secretKey + "}"},
	{`^(.*)oauth2\..*`, "${1}oauth2: {clientId: {secret: " + secretKey + "}, clientSecret: " + secretKey +
		", tokenUrl: 'http://t'}"},
	{`^(.*)tlsConfig\.(cert|keySecret)(\..*)?$`,
		"${1}tlsConfig: {cert: {secret: " + secretKey + "}, keySecret: " + secretKey + "}"},
	{`^(.*)tlsConfig\.(certFile|keyFile)`, "${1}tlsConfig: {certFile: /c, keyFile: /k}"},
	{`^(.*)tlsConfig\.maxVersion`, "${1}tlsConfig: {serverName: s}"},
	{`^(.*)queueConfig\..*`, "${1}queueConfig: {capacity: 9}"},
	{`^(.*)(noProxy|proxyConnectHeader)$`, "${1}proxyUrl: 'http://p.example.com'"},
	{`^(.*remoteWrite)\[\].*`, "$1: [{url: 'https://r.example.com/push'}]"},
	{`^(.*)sigv4\..*`, "${1}sigv4: {region: r, roleARN: a, accessKey: " + secretKey + ", secretKey: " + secretKey +
		"}"},
	{`^(.*)azureAd\.(cloud|scope)`, "${1}azureAd: {managedIdentity: {clientId: " + id + "}}"},
	{`^(.*)azureAd\.oauth\..*`, "${1}azureAd: {oauth: {clientId: " + id + ", tenantId: " + id + ", clientSecret: " +
		secretKey + "}}"},
	{`^(.*)azureAd\.workloadIdentity\..*`,
		"${1}azureAd: {workloadIdentity: {clientId: " + id + ", tenantId: " + id + "}}"},
	{`^endpoints.*`, "endpoints: [{port: web}]"}, {`^podMetricsEndpoints.*`, "podMetricsEndpoints: [{port: web}]"},
	{`^endpoints\[\]\.targetPort`, "endpoints: [{port: ''}]"},
	{`^podMetricsEndpoints\[\]\.(targetPort|portNumber)`, "podMetricsEndpoints: [{port: ''}]"},
	{`^targets\.ingress.*`, "targets: {ingress: {selector: {}}, staticConfig: null}"},
	{`^metrics\.scrapeClasses.*`, "metrics: {scrapeClasses: [{name: c, default: true}]}"},
	{`^metrics\.scrapeClasses\[\]\.default`, "metrics: {scrapeClasses: [{default: false}]}"},
	{`^metrics\.excludedFromEnforcement`, "metrics: {enforcedNamespaceLabel: ns}"},
	{`^selectorMechanism`, "selector: {matchLabels: {a: b}}"},
	{`^(.*)oauth2\.clientId\.configMap`, "${1}oauth2: {clientId: {secret: null}}"},
	{`^(.*)tlsConfig\.cert\.configMap`, "${1}tlsConfig: {cert: {secret: null}}"},
	{`^metrics\.shardingStrategy.*`, "metrics: {shards: 2}"},
	{`^apiServer.*`, "apiServer: {host: 'https://k'}"},
	{`^consulSDConfigs.*`, "consulSDConfigs: [{server: c}]"},
	{`^dnsSDConfigs.*`, "dnsSDConfigs: [{names: [a], port: 53, type: A}]"},
	{`^ec2SDConfigs.*`, "ec2SDConfigs: [{region: r}]"}, {`^lightSailSDConfigs.*`, "lightSailSDConfigs: [{region: r}]"},
	{`^(ec2|lightSail)SDConfigs\[\]\.(access|secret)Key`,
		"${1}SDConfigs: [{region: r, accessKey: " + secretKey + ", secretKey: " + secretKey + "}]"},
	{`^azureSDConfigs.*`, "azureSDConfigs: [{subscriptionID: s, tenantID: t, clientID: c, clientSecret: " + secretKey +
		"}]"},
	{`^gceSDConfigs.*`, "gceSDConfigs: [{project: p, zone: z}]"},
	{`^openstackSDConfigs.*`, "openstackSDConfigs: [{role: Instance, region: r, identityEndpoint: 'http://k'}]"},
	{`^kumaSDConfigs.*`, "kumaSDConfigs: [{server: 'http://k'}]"},
	{`^eurekaSDConfigs.*`, "eurekaSDConfigs: [{server: 'http://k'}]"},
	{`^dockerSDConfigs.*`, "dockerSDConfigs: [{host: 'tcp://h:2375'}]"},
	{`^dockerSwarmSDConfigs.*`, "dockerSwarmSDConfigs: [{host: 'tcp://h:2375', role: Tasks}]"},
	{`^hetznerSDConfigs.*`, "hetznerSDConfigs: [{role: Hcloud}]"},
	{`^nomadSDConfigs.*`, "nomadSDConfigs: [{server: 'http://k'}]"},
	{`^httpSDConfigs.*`, "httpSDConfigs: [{url: 'http://k'}]"},
	{`^fileSDConfigs.*`, "fileSDConfigs: [{files: [b.json]}]"},
	{`^kubernetesSDConfigs.*`, "kubernetesSDConfigs: [{role: Service, apiServer: 'https://a'}]"},
	{`^kubernetesSDConfigs\[\]\.namespaces.*`, "kubernetesSDConfigs: [{role: Service, apiServer: null}]"},
	{`^kubernetesSDConfigs\[\]\.(attachMetadata|selectors).*`, "kubernetesSDConfigs: [{role: Pod}]"},
	{`^puppetDBSDConfigs.*`, "puppetDBSDConfigs: [{url: 'http://k', query: q}]"},
	{`^ovhcloudSDConfigs.*`, "ovhcloudSDConfigs: [{applicationKey: a, applicationSecret: " + secretKey +
		", consumerKey: " + secretKey + ", service: VPS}]"},
	{`^scalewaySDConfigs.*`, "scalewaySDConfigs: [{accessKey: SCW12345678901234567, secretKey: " + secretKey +
		", projectID: " + id + ", role: Instance}]"},
	{`^ionosSDConfigs.*`, "ionosSDConfigs: [{datacenterID: d, authorization: {credentials: " + secretKey + "}}]"},
	{`^metrics\.remoteWrite.*`, "metrics: {remoteWrite: [{url: 'https://r.example.com/push'}]}"},
	{`^nameEscapingScheme`, "nameValidationScheme: UTF8"},
}

// bases are objects of each kind, with what all fields need.
var bases = map[string]string{
	"ServiceMonitor":  "{selector: {}, endpoints: [{port: web}]}",
	"PodMonitor":      "{selector: {}, podMetricsEndpoints: [{port: web}]}",
	"Probe":           "{prober: {url: 'p:80'}, targets: {staticConfig: {static: [t]}}}",
	"ScrapeConfig":    "{}",
	"MetricsInstance": "{}",
	"GrafanaAgent":    "{}",
}

// specs returns the spec of a kind without a field and with it. extra replaces the value of a sample.
func specs(p fields.Place, extra string) (without, with map[string]any) {
	for _, out := range [...]*map[string]any{&without, &with} {
		*out = parsed(bases[p.Kind])
		for _, n := range needs {
			if m := regexp.MustCompile(n.path); m.MatchString(p.Path) {
				path, value, _ := strings.Cut(m.ReplaceAllString(p.Path, n.text), ": ")
				set(*out, strings.TrimPrefix(path, "."), parsed("v: " + value)["v"])
			}
		}
	}
	set(with, p.Path, parsed("v: " + sample(p, extra))["v"])
	return without, with
}

func parsed(text string) map[string]any {
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		panic(text + ": " + err.Error())
	}
	return out
}

// set sets a value. Maps are merged, and so are first items of lists.
func set(in map[string]any, path string, v any) {
	name, rest, deeper := strings.Cut(path, ".")
	list, isItem := strings.CutSuffix(name, "[]")
	switch {
	case isItem:
		items, _ := in[list].([]any)
		if len(items) == 0 {
			items = []any{map[string]any{}}
		}
		in[list] = items
		set(items[0].(map[string]any), rest, v)
	case deeper:
		inner, _ := in[name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
		}
		in[name] = inner
		set(inner, rest, v)
	default:
		in[name] = merged(in[name], v)
	}
}

func merged(old, v any) any {
	switch of := v.(type) {
	case map[string]any:
		known, is := old.(map[string]any)
		if !is {
			return of
		}
		for key, value := range of {
			known[key] = merged(known[key], value)
		}
		return known
	case []any:
		known, is := old.([]any)
		if len(of) == 0 || !is || len(known) == 0 {
			return of
		}
		known[0] = merged(known[0], of[0])
		return known
	}
	return v
}

// sample returns a value for a field, as text.
func sample(p fields.Place, extra string) string {
	if extra != "" {
		return extra
	}
	best := ""
	for end := range samples {
		if strings.HasPrefix(end, ".") && strings.HasSuffix("."+p.Path, end) && len(end) > len(best) {
			best = end
		}
	}
	if best != "" {
		return samples[best]
	}
	t := p.Type
	list := false
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	value := samples[t.Name()]
	switch {
	case value != "":
	case t.Kind() == reflect.String:
		value = "x"
	case t.Kind() == reflect.Bool:
		value = "true"
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		value = "7"
	default:
		panic(fmt.Sprint("no sample for ", p.Kind, " ", p.Path, " ", p.Type))
	}
	if list {
		return "[" + value + "]"
	}
	return value
}
