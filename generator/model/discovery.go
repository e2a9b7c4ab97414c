package model

// Discovery is one entry of a list of service discoveries of a job: one of the types below, or a [KubernetesSD],
// [HTTPSD] or [Static]. The tags of the fields are the names of the settings in Prometheus's configuration, which
// runtimes share. Fields without a value are left out; a pointer or a [Text] can say that an empty value was written.
type Discovery interface {
	// Mechanism is Prometheus's name of the service discovery: consul, for consul_sd_configs.
	Mechanism() string
}

// FileSD lists targets in files of the pod.
type FileSD struct {
	Files           []string `sd:"files"`
	RefreshInterval string   `sd:"refresh_interval"`
}

// ConsulSD finds the services of a Consul catalogue.
type ConsulSD struct {
	Server          string            `sd:"server"`
	PathPrefix      Text              `sd:"path_prefix"`
	Token           Secret            `sd:"token"`
	Datacenter      Text              `sd:"datacenter"`
	Namespace       Text              `sd:"namespace"`
	Partition       Text              `sd:"partition"`
	Scheme          string            `sd:"scheme"`
	Services        []string          `sd:"services"`
	Tags            []string          `sd:"tags"`
	TagSeparator    Text              `sd:"tag_separator"`
	NodeMeta        map[string]string `sd:"node_meta"`
	AllowStale      *bool             `sd:"allow_stale"`
	RefreshInterval string            `sd:"refresh_interval"`
	HTTPClient
}

// DNSSD asks for DNS records.
type DNSSD struct {
	Names           []string `sd:"names"`
	Type            string   `sd:"type"`
	Port            *int32   `sd:"port"`
	RefreshInterval string   `sd:"refresh_interval"`
}

// EC2SD finds the instances of AWS EC2.
type EC2SD struct {
	Region          Text     `sd:"region"`
	AccessKey       Secret   `sd:"access_key,id"`
	SecretKey       Secret   `sd:"secret_key"`
	RoleARN         Text     `sd:"role_arn"`
	Port            *int32   `sd:"port"`
	Filters         []Filter `sd:"filters"`
	RefreshInterval string   `sd:"refresh_interval"`
	HTTPClient
}

// Filter keeps the objects that a provider finds by one of the values.
type Filter struct {
	Name   string   `sd:"name"`
	Values []string `sd:"values"`
}

// LightsailSD finds the instances of AWS Lightsail.
type LightsailSD struct {
	Region          Text   `sd:"region"`
	Endpoint        Text   `sd:"endpoint"`
	AccessKey       Secret `sd:"access_key,id"`
	SecretKey       Secret `sd:"secret_key"`
	RoleARN         Text   `sd:"role_arn"`
	Port            *int32 `sd:"port"`
	RefreshInterval string `sd:"refresh_interval"`
	HTTPClient
}

// AzureSD finds the virtual machines of Azure.
type AzureSD struct {
	Environment          Text   `sd:"environment"`
	AuthenticationMethod string `sd:"authentication_method"`
	SubscriptionID       string `sd:"subscription_id"`
	TenantID             Text   `sd:"tenant_id"`
	ClientID             Text   `sd:"client_id"`
	ClientSecret         Secret `sd:"client_secret"`
	ResourceGroup        Text   `sd:"resource_group"`
	Port                 *int32 `sd:"port"`
	RefreshInterval      string `sd:"refresh_interval"`
	HTTPClient
}

// GCESD finds the instances of Google Compute Engine.
type GCESD struct {
	Project         string `sd:"project"`
	Zone            string `sd:"zone"`
	Filter          Text   `sd:"filter"`
	Port            *int32 `sd:"port"`
	TagSeparator    Text   `sd:"tag_separator"`
	RefreshInterval string `sd:"refresh_interval"`
}

// OpenStackSD finds the instances or hypervisors of OpenStack.
type OpenStackSD struct {
	Role                        string `sd:"role"`
	Region                      string `sd:"region,always"`
	IdentityEndpoint            Text   `sd:"identity_endpoint,url"`
	Username                    Text   `sd:"username"`
	UserID                      Text   `sd:"userid"`
	Password                    Secret `sd:"password"`
	DomainName                  Text   `sd:"domain_name"`
	DomainID                    Text   `sd:"domain_id"`
	ProjectName                 Text   `sd:"project_name"`
	ProjectID                   Text   `sd:"project_id"`
	ApplicationCredentialName   Text   `sd:"application_credential_name"`
	ApplicationCredentialID     Text   `sd:"application_credential_id"`
	ApplicationCredentialSecret Secret `sd:"application_credential_secret"`
	AllTenants                  *bool  `sd:"all_tenants"`
	Port                        *int32 `sd:"port"`
	Availability                string `sd:"availability"`
	RefreshInterval             string `sd:"refresh_interval"`
	TLS                         *TLS   `sd:"tls_config"`
}
