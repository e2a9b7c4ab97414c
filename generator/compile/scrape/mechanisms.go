package scrape

import (
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	promv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	prommodel "github.com/prometheus/common/model"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// The service discoveries of today's Prometheus. Each runtime reports what it does not have.

func staticSD(d *discovering, c *promv1alpha1.StaticConfig) {
	for i, target := range c.Targets {
		field := "targets[" + strconv.Itoa(i) + "]"
		if strings.Contains(string(target), "/") {
			d.found.Add(diag.InvalidURL.At(d.path+field,
				"must be host:port, without a scheme or a path: it is not scraped unless a relabeling corrects it").
				As(diag.Warning))
		}
		d.literalURL(d.path+field, string(target), AuthHint)
	}
	for _, name := range sortedKeys(c.Labels) {
		if !prommodel.LabelName(name).IsValidLegacy() {
			d.found.Add(diag.InvalidRelabeling.At(d.path+"labels["+name+"]", "%q is not a label name", name))
		}
	}
	d.out.Settings = model.Map{{Key: "targets", Value: listOf(c.Targets)}, {Key: "labels", Value: mapOf(c.Labels)}}
}

var sdFile = lazyregexp.New(`^[^*]*(\*[^/]*)?\.(json|yml|yaml|JSON|YML|YAML)$`)

func fileSD(d *discovering, c *promv1alpha1.FileSDConfig) {
	if len(c.Files) == 0 {
		d.wrong("files", "is empty: the agent refuses the whole configuration")
	}
	for i, name := range c.Files {
		if !sdFile.MatchString(string(name)) {
			d.wrong("files["+strconv.Itoa(i)+"]",
				"must end in .json, .yml or .yaml, with at most one asterisk, in the last part of the path")
		}
	}
	d.out.Settings.Set("files", listOf(c.Files))
	d.refresh(c.RefreshInterval)
}

func httpSD(d *discovering, c *promv1alpha1.HTTPSDConfig) {
	d.httpURL(string(c.URL))
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func consulSD(d *discovering, c *promv1alpha1.ConsulSDConfig) {
	d.text("server", "server", c.Server)
	d.literalURL(d.path+"server", c.Server, AuthHint)
	whenSet(d, "path_prefix", c.PathPrefix)
	d.secret("token", "tokenRef", c.TokenRef)
	if c.TokenRef != nil && (c.Authorization != nil || c.OAuth2 != nil) {
		d.found.Add(diag.AuthConflict.At(d.path+"tokenRef",
			"at most one of tokenRef, authorization and oauth2 may be set: the agent refuses the whole configuration"))
	}
	whenSet(d, "datacenter", c.Datacenter)
	whenSet(d, "namespace", c.Namespace)
	whenSet(d, "partition", c.Partition)
	if c.Scheme != nil {
		d.role("scheme", "scheme", string(*c.Scheme))
	}
	d.texts("services", c.Services)
	d.texts("tags", c.Tags)
	whenSet(d, "tag_separator", c.TagSeparator)
	if len(c.NodeMeta) > 0 {
		d.out.Settings.Set("node_meta", mapOf(c.NodeMeta))
	}
	d.flag("allow_stale", c.AllowStale)
	d.nonEmpty("filter", c.Filter)
	d.nonEmpty("health_filter", c.HealthFilter)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHttp2)
}

func dnsSD(d *discovering, c *promv1alpha1.DNSSDConfig) {
	if len(c.Names) == 0 {
		d.wrong("names", "is empty: the agent refuses the whole configuration")
	}
	d.out.Settings.Set("names", listOf(c.Names))
	d.refresh(c.RefreshInterval)
	whenSet(d, "type", c.Type)
	if c.Type != nil && *c.Type != promv1alpha1.DNSRecordTypeSRV && (c.Port == nil || *c.Port == 0) {
		d.wrong("port", "is missing: records of type %s have none", *c.Type)
	}
	d.port(c.Port)
}

func ec2SD(d *discovering, c *promv1alpha1.EC2SDConfig) {
	d.region(c.Region)
	d.keys(c.AccessKey, c.SecretKey)
	whenSet(d, "role_arn", c.RoleARN)
	d.port(c.Port)
	d.filters(c.Filters)
	d.refresh(c.RefreshInterval)
	d.client(nil, nil, nil, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

// region writes the region of AWS.
func (d *discovering) region(region *string) {
	if region == nil || *region == "" {
		d.wrong("region", "is missing: the agent would ask the cloud for it while it loads its configuration, and "+
			"refuse the whole configuration if it gets no answer")
		return
	}
	d.text("region", "region", *region)
}

func lightsailSD(d *discovering, c *promv1alpha1.LightSailSDConfig) {
	d.region(c.Region)
	whenSet(d, "endpoint", c.Endpoint)
	d.keys(c.AccessKey, c.SecretKey)
	whenSet(d, "role_arn", c.RoleARN)
	d.port(c.Port)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func azureSD(d *discovering, c *promv1alpha1.AzureSDConfig) {
	whenSet(d, "environment", c.Environment)
	whenSet(d, "authentication_method", c.AuthenticationMethod)
	d.text("subscription_id", "subscriptionID", c.SubscriptionID)
	if c.AuthenticationMethod == nil || *c.AuthenticationMethod == promv1alpha1.AuthMethodTypeOAuth {
		for _, f := range [...]struct {
			field string
			set   bool
		}{
			{"tenantID", c.TenantID != nil && *c.TenantID != ""}, {"clientID", c.ClientID != nil && *c.ClientID != ""},
			{"clientSecret", c.ClientSecret != nil},
		} {
			if !f.set {
				d.found.Add(diag.IncompleteAuth.At(d.path+f.field,
					"is missing: the authentication method OAuth does not work without it"))
			}
		}
	}
	whenSet(d, "tenant_id", c.TenantID)
	whenSet(d, "client_id", c.ClientID)
	d.secret("client_secret", "clientSecret", c.ClientSecret)
	whenSet(d, "resource_group", c.ResourceGroup)
	d.port(c.Port)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func gceSD(d *discovering, c *promv1alpha1.GCESDConfig) {
	d.text("project", "project", c.Project)
	d.text("zone", "zone", c.Zone)
	whenSet(d, "filter", c.Filter)
	d.port(c.Port)
	whenSet(d, "tag_separator", c.TagSeparator)
	d.refresh(c.RefreshInterval)
}

func openstackSD(d *discovering, c *promv1alpha1.OpenStackSDConfig) {
	d.role("role", "role", string(c.Role))
	d.text("region", "region", c.Region)
	if c.IdentityEndpoint != nil {
		d.url("identity_endpoint", "identityEndpoint", string(*c.IdentityEndpoint))
	}
	whenSet(d, "username", c.Username)
	whenSet(d, "userid", c.UserID)
	d.secret("password", "password", c.Password)
	whenSet(d, "domain_name", c.DomainName)
	whenSet(d, "domain_id", c.DomainID)
	whenSet(d, "project_name", c.ProjectName)
	whenSet(d, "project_id", c.ProjectID)
	whenSet(d, "application_credential_name", c.ApplicationCredentialName)
	whenSet(d, "application_credential_id", c.ApplicationCredentialID)
	d.secret("application_credential_secret", "applicationCredentialSecret", c.ApplicationCredentialSecret)
	d.flag("all_tenants", c.AllTenants)
	d.port(c.Port)
	if c.Availability != nil {
		d.role("availability", "availability", string(*c.Availability))
	}
	d.refresh(c.RefreshInterval)
	d.out.TLS = d.clientTLS(fullTLS(c.TLSConfig))
}

func digitaloceanSD(d *discovering, c *promv1alpha1.DigitalOceanSDConfig) {
	d.port(c.Port)
	d.refresh(c.RefreshInterval)
	d.client(nil, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func kumaSD(d *discovering, c *promv1alpha1.KumaSDConfig) {
	d.url("server", "server", string(c.Server))
	d.refresh(c.RefreshInterval)
	d.duration("fetch_timeout", "fetchTimeout", c.FetchTimeout)
	d.nonEmpty("client_id", c.ClientID)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func eurekaSD(d *discovering, c *promv1alpha1.EurekaSDConfig) {
	d.url("server", "server", string(c.Server))
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func dockerSD(d *discovering, c *promv1alpha1.DockerSDConfig) {
	d.daemon(c.Host)
	d.port(c.Port)
	whenSet(d, "host_networking_host", c.HostNetworkingHost)
	d.flag("match_first_network", c.MatchFirstNetwork)
	d.filters(c.Filters)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

// daemon writes the address of a Docker daemon: a URL whose host can be absent, as in unix:///var/run/docker.sock.
func (d *discovering) daemon(host string) {
	d.found.checkURL(d.path+"host", host)
	d.literalURL(d.path+"host", host, AuthHint)
	d.text("host", "host", host)
}

func linodeSD(d *discovering, c *promv1alpha1.LinodeSDConfig) {
	d.port(c.Port)
	whenSet(d, "tag_separator", c.TagSeparator)
	d.nonEmpty("region", c.Region)
	d.refresh(c.RefreshInterval)
	d.client(nil, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func hetznerSD(d *discovering, c *promv1alpha1.HetznerSDConfig) {
	d.role("role", "role", string(c.Role))
	d.port(c.Port)
	d.nonEmpty("label_selector", c.LabelSelector)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func nomadSD(d *discovering, c *promv1alpha1.NomadSDConfig) {
	d.url("server", "server", string(c.Server))
	d.flag("allow_stale", c.AllowStale)
	whenSet(d, "namespace", c.Namespace)
	whenSet(d, "region", c.Region)
	whenSet(d, "tag_separator", c.TagSeparator)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func dockerswarmSD(d *discovering, c *promv1alpha1.DockerSwarmSDConfig) {
	d.daemon(c.Host)
	d.role("role", "role", string(c.Role))
	d.port(c.Port)
	d.filters(c.Filters)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func puppetdbSD(d *discovering, c *promv1alpha1.PuppetDBSDConfig) {
	d.httpURL(string(c.URL))
	d.text("query", "query", c.Query)
	d.flag("include_parameters", c.IncludeParameters)
	d.port(c.Port)
	d.refresh(c.RefreshInterval)
	d.client(c.BasicAuth, c.Authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func ovhcloudSD(d *discovering, c *promv1alpha1.OVHCloudSDConfig) {
	d.text("application_key", "applicationKey", c.ApplicationKey)
	d.secret("application_secret", "applicationSecret", &c.ApplicationSecret)
	d.secret("consumer_key", "consumerKey", &c.ConsumerKey)
	service := map[promv1alpha1.OVHService]string{promv1alpha1.OVHServiceVPS: "vps",
		promv1alpha1.OVHServiceDedicatedServer: "dedicated_server"}
	d.text("service", "service", service[c.Service])
	whenSet(d, "endpoint", c.Endpoint)
	d.refresh(c.RefreshInterval)
}

// What Scaleway's library accepts.
var (
	scalewayKey  = lazyregexp.New(`^SCW[A-Z0-9]{17}$`)
	scalewayZone = lazyregexp.New(`^[a-z]{2}-[a-z]{3}-[1-9]$`)
	uuid         = lazyregexp.New(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

func scalewaySD(d *discovering, c *promv1alpha1.ScalewaySDConfig) {
	if !scalewayKey.MatchString(c.AccessKey) {
		d.wrong("accessKey", "must be SCW and 17 capital letters or digits: the agent refuses the whole configuration")
	}
	d.text("access_key", "accessKey", c.AccessKey)
	secret := d.credential("secretKey", &c.SecretKey)
	if secret.Set && !uuid.MatchString(secret.Value) {
		d.found.Add(diag.InvalidSetting.At(d.path+"secretKey",
			"is not a UUID: the agent refuses the whole configuration").
			With(Referred(monitoringv1.SecretOrConfigMap{Secret: &c.SecretKey})...))
	}
	if secret.File != "" {
		d.out.Settings.Set("secret_key_file", model.String(secret.File))
	} else {
		d.out.Settings.Set("secret_key", secret)
	}
	if !uuid.MatchString(c.ProjectID) {
		d.wrong("projectID", "is not a UUID: the agent refuses the whole configuration")
	}
	d.text("project_id", "projectID", c.ProjectID)
	d.role("role", "role", string(c.Role))
	d.port(c.Port)
	if c.ApiURL != nil {
		d.url("api_url", "apiURL", string(*c.ApiURL))
	}
	if c.Zone != nil && !scalewayZone.MatchString(*c.Zone) {
		d.wrong("zone", "is not a zone, like fr-par-1: the agent refuses the whole configuration")
	}
	whenSet(d, "zone", c.Zone)
	whenSet(d, "name_filter", c.NameFilter)
	d.texts("tags_filter", c.TagsFilter)
	d.refresh(c.RefreshInterval)
	d.client(nil, nil, nil, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}

func ionosSD(d *discovering, c *promv1alpha1.IonosSDConfig) {
	d.text("datacenter_id", "datacenterID", c.DataCenterID)
	d.port(c.Port)
	d.refresh(c.RefreshInterval)
	authorization := &c.Authorization
	if c.OAuth2 != nil {
		authorization = nil
	}
	d.client(nil, authorization, c.OAuth2, c.TLSConfig, c.ProxyConfig, c.FollowRedirects, c.EnableHTTP2)
}
