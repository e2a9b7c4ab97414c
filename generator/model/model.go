package model

import "fmt"

// Text is a string that may be absent; an empty string is present. References to environment variables are expanded
// only if Variables is set.
type Text struct {
	Value          string
	Set, Variables bool
}

// Present returns a Text that is present, even if it is empty.
func Present(s string) Text { return Text{Value: s, Set: true} }

// NonEmpty returns a Text that is absent if s is empty.
func NonEmpty(s string) Text { return Text{Value: s, Set: s != ""} }

// Expanded returns a Text in which references to variables are expanded. It is absent if s is empty.
func Expanded(s string) Text {
	if s == "" {
		return Text{}
	}
	return String(s).Text()
}

// Secret is a credential in one of three forms: a File of the pod, the name of an environment variable of the pod
// (Env), or the Value itself (Set). References to environment variables in File or Value are expanded only if
// Variables is set, as for texts in custom resources; the contents of Secrets are used unchanged.
type Secret struct {
	File           string
	Env            string
	Value          string
	Set, Variables bool
}

// Present reports whether there is a credential.
func (s Secret) Present() bool { return s.Set || s.File != "" || s.Env != "" }

// SecretFile returns a credential in a file of the pod, or an absent one.
func SecretFile(name Text) Secret { return Secret{File: name.Value, Variables: name.Variables} }

// FileName returns File as a text.
func (s Secret) FileName() Text {
	if s.Variables {
		return Expanded(s.File)
	}
	return NonEmpty(s.File)
}

// Expandable is a map with values in which references to environment variables are expanded.
type Expandable map[string]string

// Config is the whole configuration file. Subsystems that are nil are left out.
type Config struct {
	// Origin is the GrafanaAgent.
	Origin Origin
	// KnownVersion means that the pods run the version of the runtime whose rules agentry knows, so unknown fields are
	// errors. Another version may know them.
	KnownVersion bool
	Pod          Pod
	Server       Server
	Metrics      *Metrics
	Logs         *Logs
	Integrations *Integrations
}

// Server is the server block.
type Server struct {
	LogLevel, LogFormat string
}

// Metrics is the metrics block.
type Metrics struct {
	WALDirectory string
	Separate     bool // instances share nothing, even if their settings are equal
	Global       Global
	Configs      []Instance
	// Clustered means that the pods share the targets of all jobs among themselves.
	Clustered bool
	// Integrations are those that IntegrationMonitors select from, or nil if there is no IntegrationMonitor.
	Integrations *PodIntegrations
}

// Global has the settings of all instances. Instances without remote_write entries of their own use RemoteWrite.
type Global struct {
	ScrapeInterval, ScrapeTimeout string
	ExternalLabels                Expandable
	// ReplicaLabel is the external label that distinguishes the replicas of a shard, or empty. It takes precedence
	// over ExternalLabels.
	ReplicaLabel string
	// ZoneLabel is the external label that names the zone of a shard, or empty. It takes precedence over
	// ExternalLabels.
	ZoneLabel   string
	RemoteWrite []RemoteWrite
	Limits
}

// Instance is an entry of metrics.configs.
type Instance struct {
	Origin               Origin
	Name                 string
	WALTruncateFrequency string
	MinWALTime           string
	MaxWALTime           string
	RemoteFlushDeadline  string
	WriteStaleOnShutdown bool // written only if true
	RemoteWrite          []RemoteWrite
	ScrapeConfigs        []*ScrapeConfig
	Additional           []Raw
}

// RemoteWrite is an entry of remote_write.
type RemoteWrite struct {
	Origin        Origin
	Name          String
	URL           String
	RemoteTimeout String
	Headers       Expandable
	WriteRelabel  []*Relabel
	HTTPClient
	SendExemplars, SendNativeHistograms *bool
	// Message is the protobuf message in which samples are sent: [WriteV2], or empty for version 1.
	Message string
	// RoundRobinDNS chooses one of the addresses of the host for each connection.
	RoundRobinDNS bool

	SigV4    *SigV4
	AzureAD  *AzureAD
	Queue    *Queue
	Metadata *Metadata
}

// WriteV2 is the message of version 2.0 of Prometheus's remote-write protocol.
const WriteV2 = "io.prometheus.write.v2.Request"

// SigV4 has the settings of AWS request signing. If it is empty, credentials come from the environment, so it is
// printed as {}.
type SigV4 struct {
	Region, Profile, RoleARN, ExternalID String
	AccessKey, SecretKey                 Secret
	// FIPS means that the role is requested from a FIPS endpoint.
	FIPS bool
}

// AzureAD has the credentials for Azure, of exactly one kind.
type AzureAD struct {
	Cloud, Scope String
	// ManagedIdentity is the id of a managed identity; the empty id is the system-assigned identity.
	ManagedIdentity  Text
	OAuth            *AzureOAuth
	SDK              *AzureSDK
	WorkloadIdentity *AzureWorkloadIdentity
}

// AzureSDK means that the Azure SDK finds the credentials in the environment.
type AzureSDK struct{ TenantID String }

// AzureWorkloadIdentity is the Azure application of the pod's service account.
type AzureWorkloadIdentity struct{ ClientID, TenantID String }

// AzureOAuth is an Azure application with its client secret.
type AzureOAuth struct {
	ClientID, TenantID String
	ClientSecret       Secret
}

// Queue is queue_config. Zero fields are left out.
type Queue struct {
	Capacity, MinShards, MaxShards, MaxSamplesPerSend int64
	BatchSendDeadline, MinBackoff, MaxBackoff         String
	RetryOn429                                        *bool
	SampleAgeLimit                                    String
}

// Metadata is metadata_config.
type Metadata struct {
	Send              bool
	SendInterval      String
	MaxSamplesPerSend *int32
}

// ScrapeConfig is one scrape job.
type ScrapeConfig struct {
	Origin  Origin
	JobName string
	Switches
	Interval    string
	Timeout     string
	MetricsPath string
	Scheme      string
	Params      map[string][]string
	HTTPClient
	Kubernetes *KubernetesSD
	HTTP       *HTTPSD
	Static     *Static
	// Discoveries are the service discoveries of a ScrapeConfig, grouped by mechanism.
	Discoveries []Discovery
	Limits
	Formats       Formats
	Relabel       []*Relabel // may be shared between jobs
	MetricRelabel []*Relabel
	// HandWritten means that the job's name is unique only in its instance.
	HandWritten bool
	// Variables means that references to environment variables are expanded in all texts, where $$ is a dollar sign,
	// as in hand-written jobs.
	Variables bool
}

// HTTPSD is an entry of http_sd_configs.
type HTTPSD struct {
	URL string
	// Everyone means that the URL lists the targets of all GrafanaAgents.
	Everyone        bool
	RefreshInterval string
	HTTPClient
}

// KubernetesSD is the only kubernetes_sd_configs entry of a job. No Namespaces means all.
type KubernetesSD struct {
	Role       string
	APIServer  Text
	Namespaces []string
	// AttachNode adds the labels of the node to targets.
	AttachNode *bool
	Selectors  []RoleSelector
	HTTPClient
}

// RoleSelector selects the objects of a role that are watched.
type RoleSelector struct {
	Role, Label, Field string
}

// Static is the only static_configs entry of a job.
type Static struct {
	Targets []string
	Labels  map[string]string
}

// ShardValue names a value that differs between the shards of a GrafanaAgent.
type ShardValue int

const (
	// NoShardValue is used in rules that are equal in all shards.
	NoShardValue ShardValue = iota
	// ShardNumber is the number of the shard.
	ShardNumber
	// Zone is the name of the shard's zone.
	Zone
	// ShardInZone is the number of the shard within its zone.
	ShardInZone
)

// Relabel is one relabelling rule. If Shard is set, the regular expression begins with that value of the pod, followed
// by Regex.
type Relabel struct {
	Written      Written
	SourceLabels []string
	Separator    Text
	Regex        Text
	TargetLabel  string
	Replacement  Text
	Action       string
	Modulus      uint64
	Shard        ShardValue
}

// Logs is the logs block.
type Logs struct {
	PositionsDirectory string
	Configs            []LogsInstance
}

// LogsInstance is an entry of logs.configs.
type LogsInstance struct {
	Origin        Origin
	Name          string
	Clients       []LogsClient
	ScrapeConfigs []*LogsScrapeConfig
	Additional    []Raw
	TargetConfig  *TargetConfig
}

// LogsClient is a destination of logs. Zero fields are left out.
type LogsClient struct {
	Origin         Origin
	Name           String
	URL            String
	TenantID       String
	BatchWait      String
	BatchSize      int64
	Timeout        String
	ProxyURL       String
	ExternalLabels Expandable
	HTTPAuth
	TLS     *TLS
	Backoff *Backoff
}

// Backoff is backoff_config. Zero fields are left out.
type Backoff struct {
	MinPeriod, MaxPeriod String
	MaxRetries           int64
}

// TargetConfig is target_config.
type TargetConfig struct {
	SyncPeriod string
}

// LogsScrapeConfig is one job of a logs instance.
type LogsScrapeConfig struct {
	Origin     Origin
	JobName    string
	Kubernetes *KubernetesSD
	Stages     []Stage
	Relabel    []*Relabel
}

// Integrations is the integrations block of integrations-next. An integration scrapes itself only if its configuration
// says so.
type Integrations struct {
	Lists []IntegrationList
	// Instances are the metrics instances that receive the metrics of integrations that scrape themselves.
	Instances []string
}

// IntegrationList is one <name>_configs.
type IntegrationList struct {
	Name    string // without _configs
	Configs []Map
	Sources []IntegrationSource // of Configs
	// JobLabel is the label job of its targets, or empty if it has no targets.
	JobLabel string
}

// Named returns the display name of integration i: its field and number.
func (l *IntegrationList) Named(i int) string { return fmt.Sprintf("%s_configs[%d]", l.Name, i) }

// Origin returns the origin of integration i, if it is known.
func (l *IntegrationList) Origin(i int) Origin {
	if i < len(l.Sources) {
		return l.Sources[i].Origin
	}
	return Origin{}
}

// IntegrationSource says where the configuration of an integration comes from, and how the agent names it.
type IntegrationSource struct {
	Origin
	// ConfigPath is the prefix of the paths of the configuration's fields, with its separator.
	ConfigPath string
	// Instance is the label instance of the integration's targets, in which variables are expanded, if it is known.
	// OfPod means that it is the pod's host name and port.
	Instance Text
	OfPod    bool
}

// PodIntegrations are the integrations of a GrafanaAgent, for programs that scrape them from its pods.
type PodIntegrations struct {
	// Agent is the GrafanaAgent.
	Namespace, Agent string
	// Once and EveryNode are the integrations that run once and on every node, or nil.
	Once, EveryNode *Integrations
	// Pods is the discovery of their pods.
	Pods KubernetesSD
	// Used means that IntegrationMonitors find the integrations in this way. The runtime's check sets it.
	Used bool
}
