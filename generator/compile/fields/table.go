package fields

import (
	"reflect"
	"slices"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
)

// entry has the rules for the fields of one type, embedded ones included where it names them.
type entry struct {
	of    reflect.Type
	rules []Rule
}

func of[T any](rules ...Rule) entry { return entry{reflect.TypeFor[T](), rules} }

// Table returns all rules.
func table() []entry { return slices.Concat(monitors(), scrapeConfigs(), clients(), own()) }

// byType returns the rules by type and field.
func byType() map[reflect.Type]map[string][]*Rule {
	out := map[reflect.Type]map[string][]*Rule{}
	for _, e := range table() {
		names := map[string][]*Rule{}
		for i := range e.rules {
			for _, name := range strings.Fields(e.rules[i].Names) {
				names[name] = append(names[name], &e.rules[i])
			}
		}
		out[e.of] = names
	}
	return out
}

// What monitors of every kind have alike.
const (
	limits    = "labelLimit labelNameLengthLimit labelValueLengthLimit keepDroppedTargets"
	mayShard  = "sampleLimit targetLimit"
	protocols = "scrapeProtocols fallbackScrapeProtocol"
)

func monitors() []entry {
	return []entry{
		of[monitoringv1.ServiceMonitorSpec](
			Rule{Names: protocols, Fate: Current},
			Rule{Names: "jobLabel targetLabels podTargetLabels endpoints selector namespaceSelector " + mayShard},
			Rule{Names: limits, Fate: Current, Silent: "0"},
			Rule{Names: "bodySizeLimit", Fate: Current, Silent: "0"},
			Rule{Names: "attachMetadata"},
			Rule{Names: "scrapeClass", Fate: Current},
			Rule{Names: "selectorMechanism", Fate: Current, Silent: "RelabelConfig"},
			Rule{Names: "serviceDiscoveryRole", Fate: Current, Silent: "Endpoints"},
		),
		of[monitoringv1.Endpoint](
			Rule{Names: "port targetPort path scheme params interval scrapeTimeout honorLabels honorTimestamps " +
				"metricRelabelings relabelings filterRunning bearerTokenFile"},
			Rule{Names: "trackTimestampsStaleness", Fate: Current, Silent: "false"},
		),
		of[monitoringv1.PodMonitorSpec](
			Rule{Names: protocols, Fate: Current},
			Rule{Names: "jobLabel podTargetLabels podMetricsEndpoints selector namespaceSelector " + mayShard},
			Rule{Names: limits, Fate: Current, Silent: "0"},
			Rule{Names: "bodySizeLimit", Fate: Current, Silent: "0"},
			Rule{Names: "attachMetadata"},
			Rule{Names: "scrapeClass", Fate: Current},
			Rule{Names: "selectorMechanism", Fate: Current, Silent: "RelabelConfig"},
		),
		of[monitoringv1.PodMetricsEndpoint](
			Rule{Names: "port targetPort path scheme params interval scrapeTimeout honorLabels honorTimestamps " +
				"metricRelabelings relabelings filterRunning"},
			Rule{Names: "trackTimestampsStaleness", Fate: Current, Silent: "false"},
			Rule{Names: "portNumber", Fate: Current},
		),
		of[monitoringv1.ProbeSpec](
			Rule{Names: protocols, Fate: Current},
			Rule{Names: "jobName prober module targets interval scrapeTimeout"},
			Rule{Names: mayShard + " " + limits, Fate: Current, Silent: "0"},
			Rule{Names: "scrapeClass params metricRelabelings authorization", Fate: Current},
			Rule{Names: "enableHttp2", Fate: Current, Silent: "true"},
		),
		of[monitoringv1.ProberSpec](
			Rule{Names: "url scheme path"},
			Rule{Names: "proxyUrl noProxy proxyConnectHeader", Fate: Current},
			Rule{Names: "proxyFromEnvironment", Fate: Current, Silent: "false"},
		),
		of[monitoringv1.ProbeTargets](Rule{Names: "staticConfig ingress"}),
		of[monitoringv1.ProbeTargetStaticConfig](Rule{Names: "static labels relabelingConfigs"}),
		of[monitoringv1.ProbeTargetIngress](Rule{Names: "selector namespaceSelector relabelingConfigs"}),
		of[monitoringv1.ProbeParam](Rule{Names: "name values"}),
		of[monitoringv1.NamespaceSelector](Rule{Names: "any matchNames"}),
		of[monitoringv1.AttachMetadata](Rule{Names: "node", Fate: Current, Silent: "false"}),
		of[monitoringv1.RelabelConfig](
			Rule{Names: "sourceLabels separator targetLabel regex modulus replacement action"}),
		of[monitoringv1.NativeHistogramConfig](
			Rule{Names: "scrapeClassicHistograms", Fate: Current, Silent: "false"},
			Rule{Names: "nativeHistogramBucketLimit", Fate: Current, Silent: "0"},
			Rule{Names: "nativeHistogramMinBucketFactor", Fate: Current},
			Rule{Names: "convertClassicHistogramsToNHCB scrapeNativeHistograms", Fate: Current, Silent: "false"},
		),
	}
}

// clients are the settings of HTTP clients.
func clients() []entry {
	return []entry{
		of[monitoringv1.HTTPConfigWithoutTLS](
			Rule{Names: "basicAuth bearerTokenSecret enableHttp2"},
			Rule{Names: "authorization oauth2", Fate: Current},
			Rule{Names: "followRedirects", Fate: Current, Silent: "true"},
		),
		of[monitoringv1.HTTPConfig](Rule{Names: "tlsConfig"}),
		of[monitoringv1.HTTPConfigWithTLSFiles](Rule{Names: "tlsConfig"}),
		of[monitoringv1.ProxyConfig](
			Rule{Names: "proxyUrl"},
			Rule{Names: "noProxy proxyConnectHeader", Fate: Current},
			Rule{Names: "proxyFromEnvironment", Fate: Current, Silent: "false"},
		),
		of[monitoringv1.SafeTLSConfig](
			Rule{Names: "ca cert keySecret serverName insecureSkipVerify"},
			Rule{Names: "minVersion", Fate: Current, Silent: "TLS12"},
			Rule{Names: "maxVersion", Fate: Current},
		),
		of[monitoringv1.TLSFilesConfig](Rule{Names: "caFile certFile keyFile"}),
		of[monitoringv1.SecretOrConfigMap](Rule{Names: "secret configMap"}),
		of[monitoringv1.BasicAuth](Rule{Names: "username password"}),
		of[monitoringv1.SafeAuthorization](Rule{Names: "type credentials"}),
		of[monitoringv1.Authorization](Rule{Names: "credentialsFile"}),
		of[monitoringv1.OAuth2](
			Rule{Names: "clientId clientSecret tokenUrl scopes endpointParams"},
			Rule{Names: "tlsConfig proxyUrl noProxy proxyConnectHeader", Fate: Current},
			Rule{Names: "proxyFromEnvironment", Fate: Current, Silent: "false"},
		),
	}
}

// own are the fields of the Prometheus object that GrafanaAgents and MetricsInstances have.
func own() []entry {
	return []entry{
		of[v1alpha1.PrometheusSettings](
			Rule{Names: "scrapeClasses podTargetLabels excludedFromEnforcement", Fate: Current},
			Rule{Names: "sampleLimit targetLimit enforcedLabelLimit enforcedLabelNameLengthLimit " +
				"enforcedLabelValueLengthLimit enforcedKeepDroppedTargets " + limits, Fate: Current, Silent: "0"},
			Rule{Names: "enforcedBodySizeLimit bodySizeLimit", Fate: Current, Silent: "0"},
			Rule{Names: "serviceDiscoveryRole", Fate: Current, Silent: "Endpoints"},
			Rule{Names: "shardingStrategy", Fate: Current},
		),
		of[v1alpha1.MetricsInstanceSpec](Rule{Names: "scrapeConfigSelector scrapeConfigNamespaceSelector",
			Fate: Current}),
		of[v1alpha1.APIServerConfig](
			Rule{Names: "authorization proxyUrl noProxy proxyConnectHeader", Fate: Current},
			Rule{Names: "proxyFromEnvironment", Fate: Current, Silent: "false"},
		),
		of[v1alpha1.PrometheusWriter](
			Rule{Names: "authorization azureAd noProxy proxyConnectHeader enableHTTP2 followRedirects sendExemplars " +
				"sendNativeHistograms", Fate: Current},
			Rule{Names: "proxyFromEnvironment", Fate: Current, Silent: "false"},
			Rule{Names: "messageVersion", Fate: Current, Silent: "V1.0"},
			Rule{Names: "roundRobinDNS", Fate: Current, Silent: "false"},
		),
		of[v1alpha1.SigV4Config](
			Rule{Names: "externalId", Fate: Current},
			Rule{Names: "useFIPSSTSEndpoint", Fate: Current, Silent: "false"},
		),
		of[v1alpha1.QueueConfig](
			Rule{Names: "maxRetries", Fate: Gone},
			Rule{Names: "retryOnRateLimit", Fate: Current, Silent: "true"},
			Rule{Names: "sampleAgeLimit", Fate: Current, Silent: "0s"},
		),
		of[v1alpha1.MetadataConfig](Rule{Names: "maxSamplesPerSend", Fate: Current}),
		of[monitoringv1.AzureAD](Rule{Names: "cloud managedIdentity oauth sdk workloadIdentity scope"}),
		of[monitoringv1.ManagedIdentity](Rule{Names: "clientId"}),
		of[monitoringv1.AzureOAuth](Rule{Names: "clientId clientSecret tenantId"}),
		of[monitoringv1.AzureSDK](Rule{Names: "tenantId"}),
		of[monitoringv1.AzureWorkloadIdentity](Rule{Names: "clientId tenantId"}),
		of[monitoringv1.ShardingStrategy](Rule{Names: "mode topology"}),
		of[monitoringv1.TopologyShardingStrategy](Rule{Names: "values externalLabelName"}),
		of[monitoringv1.ObjectReference](Rule{Names: "group resource namespace name"}),
		of[monitoringv1.ScrapeClass](
			Rule{Names: "name default tlsConfig authorization relabelings metricRelabelings attachMetadata " +
				"fallbackScrapeProtocol"}),
	}
}
