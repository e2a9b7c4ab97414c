package fields

import (
	"slices"

	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
)

// client are the settings of HTTP clients that most service discoveries have, beside the settings of a proxy.
const client = " basicAuth authorization oauth2 tlsConfig followRedirects enableHTTP2"

// scrapeConfigs are the fields of ScrapeConfigs. Mode operator reads none of them.
func scrapeConfigs() []entry {
	return slices.Concat([]entry{
		of[promv1alpha1.ScrapeConfigSpec](
			Rule{Names: "jobName staticConfigs fileSDConfigs httpSDConfigs kubernetesSDConfigs consulSDConfigs " +
				"dnsSDConfigs ec2SDConfigs azureSDConfigs gceSDConfigs " +
				"openstackSDConfigs digitalOceanSDConfigs kumaSDConfigs eurekaSDConfigs dockerSDConfigs " +
				"linodeSDConfigs hetznerSDConfigs nomadSDConfigs " +
				"dockerSwarmSDConfigs puppetDBSDConfigs lightSailSDConfigs ovhcloudSDConfigs scalewaySDConfigs " +
				"ionosSDConfigs"},
			Rule{Names: "relabelings metricRelabelings metricsPath scrapeInterval scrapeTimeout honorTimestamps " +
				"trackTimestampsStaleness honorLabels params scheme scrapeClass " +
				"enableHTTP2 basicAuth authorization oauth2 tlsConfig bodySizeLimit " + mayShard + " " + limits},
			Rule{Names: "enableCompression nameValidationScheme nameEscapingScheme " + protocols},
		),
	}, discoveries(), clouds())
}

// discoveries returns the rules for discoveries of targets that are not machines of a cloud.
func discoveries() []entry {
	return []entry{
		of[promv1alpha1.StaticConfig](Rule{Names: "targets labels"}),
		of[promv1alpha1.FileSDConfig](Rule{Names: "files refreshInterval"}),
		of[promv1alpha1.HTTPSDConfig](Rule{Names: "url refreshInterval" + client}),
		of[promv1alpha1.KubernetesSDConfig](Rule{Names: "apiServer role namespaces attachMetadata selectors" + client}),
		of[promv1alpha1.NamespaceDiscovery](Rule{Names: "ownNamespace names"}),
		of[promv1alpha1.AttachMetadata](Rule{Names: "node"}),
		of[promv1alpha1.K8SSelectorConfig](Rule{Names: "role label field"}),
		of[promv1alpha1.ConsulSDConfig](
			Rule{Names: "server pathPrefix tokenRef datacenter namespace partition scheme services tags tagSeparator " +
				"nodeMeta " +
				"allowStale filter healthFilter refreshInterval" + client}),
		of[promv1alpha1.DNSSDConfig](Rule{Names: "names refreshInterval port type"}),
		of[promv1alpha1.KumaSDConfig](Rule{Names: "server refreshInterval fetchTimeout clientID" + client}),
		of[promv1alpha1.EurekaSDConfig](Rule{Names: "server refreshInterval" + client}),
		of[promv1alpha1.DockerSDConfig](
			Rule{Names: "host port hostNetworkingHost filters matchFirstNetwork refreshInterval" + client}),
		of[promv1alpha1.NomadSDConfig](Rule{Names: "allowStale namespace refreshInterval region server tagSeparator" +
			client}),
		of[promv1alpha1.DockerSwarmSDConfig](Rule{Names: "host role port filters refreshInterval" + client}),
		of[promv1alpha1.PuppetDBSDConfig](Rule{Names: "url query includeParameters refreshInterval port" + client}),
	}
}

// clouds are the discoveries of machines that a provider rents out.
func clouds() []entry {
	return []entry{
		of[promv1alpha1.EC2SDConfig](
			Rule{Names: "region accessKey secretKey roleARN port refreshInterval filters tlsConfig followRedirects " +
				"enableHTTP2"}),
		of[promv1alpha1.Filter](Rule{Names: "name values"}),
		of[promv1alpha1.AzureSDConfig](
			Rule{Names: "environment subscriptionID authenticationMethod tenantID clientID clientSecret " +
				"resourceGroup refreshInterval port" + client}),
		of[promv1alpha1.GCESDConfig](Rule{Names: "project zone filter refreshInterval port tagSeparator"}),
		of[promv1alpha1.OpenStackSDConfig](
			Rule{Names: "role region identityEndpoint username userid password domainName domainID projectName " +
				"projectID " +
				"applicationCredentialName applicationCredentialId applicationCredentialSecret allTenants " +
				"refreshInterval port availability tlsConfig"}),
		of[promv1alpha1.DigitalOceanSDConfig](
			Rule{Names: "port refreshInterval authorization oauth2 tlsConfig followRedirects enableHTTP2"}),
		of[promv1alpha1.LinodeSDConfig](
			Rule{Names: "port tagSeparator region refreshInterval authorization oauth2 tlsConfig followRedirects " +
				"enableHTTP2"}),
		of[promv1alpha1.HetznerSDConfig](Rule{Names: "role port labelSelector refreshInterval" + client}),
		of[promv1alpha1.LightSailSDConfig](
			Rule{Names: "region accessKey secretKey roleARN endpoint refreshInterval port" + client}),
		of[promv1alpha1.OVHCloudSDConfig](
			Rule{Names: "applicationKey applicationSecret consumerKey service endpoint refreshInterval"}),
		of[promv1alpha1.ScalewaySDConfig](
			Rule{Names: "accessKey secretKey projectID role port apiURL zone nameFilter tagsFilter refreshInterval " +
				"tlsConfig followRedirects enableHTTP2"}),
		of[promv1alpha1.IonosSDConfig](
			Rule{Names: "datacenterID port refreshInterval authorization tlsConfig followRedirects " +
				"enableHTTP2 oauth2"}),
	}
}
