package model

import "fmt"

// Text is a string that may be absent. The empty string is a value. With Variables, references to environment variables
// are expanded in it; without, it arrives as it is.
type Text struct {
	Value          string
	Set, Variables bool
}

// Present returns a Text that is present, even if it is empty.
func Present(s string) Text { return Text{Value: s, Set: true} }

// NonEmpty returns a Text that is absent if s is empty.
func NonEmpty(s string) Text { return Text{Value: s, Set: s != ""} }

// Expanded returns a Text in which references to variables are expanded, if it has some. It is absent if s is empty.
func Expanded(s string) Text {
	if s == "" {
		return Text{}
	}
	return String(s).Text()
}

// Secret is a credential in one of three forms: a File of the pod, the name of an environment variable of the pod
// (Env), or the Value itself (Set). With Variables, File or Value is a text of a custom resource in which references to
// environment variables are expanded; without, as in all that comes from a Secret, it arrives as it is.
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

// Expandable is a map in whose values references to environment variables are expanded.
type Expandable map[string]string

// Config is the whole file. Subsystems that are nil are left out.
type Config struct {
	// Origin is the GrafanaAgent.
	Origin Origin
	// KnownVersion means that the pods run the version of the runtime whose rules are known. Then unknown fields are
	// errors; otherwise another version may know them.
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
	// Integrations are what IntegrationMonitors select from. Nil if there is no IntegrationMonitor.
	Integrations *PodIntegrations
}

// Global has the settings of all instances. RemoteWrite is used by instances that have none.
type Global struct {
	ScrapeInterval, ScrapeTimeout string
	ExternalLabels                Expandable
	// ReplicaLabel is the external label that distinguishes the replicas of a shard. It takes precedence over
	// ExternalLabels. If it is empty, there is none.
	ReplicaLabel string
	// ZoneLabel is the external label that names the zone of a shard. It takes precedence over ExternalLabels. If it is
	// empty, there is none.
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
	// Message is the name of the message that samples are sent in: [WriteV2], or empty for version 1.
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

// SigV4 is AWS request signing. If it is empty, credentials come from the environment, so it is written as {}.
type SigV4 struct {
	Region, Profile, RoleARN, ExternalID String
	AccessKey, SecretKey                 Secret
	// FIPS means that the role is asked for at an endpoint that complies with FIPS.
	FIPS bool
}

// AzureAD is the credentials for Azure, which are of one kind.
type AzureAD struct {
	Cloud, Scope String
	// ManagedIdentity is the id of a managed identity. The identity that the system has assigned is the empty one.
	ManagedIdentity  Text
	OAuth            *AzureOAuth
	SDK              *AzureSDK
	WorkloadIdentity *AzureWorkloadIdentity
}

// AzureSDK is what Azure's own library finds in the environment.
type AzureSDK struct{ TenantID String }

// AzureWorkloadIdentity is an application of Azure that the pod's service account stands for.
type AzureWorkloadIdentity struct{ ClientID, TenantID String }

// AzureOAuth is an application of Azure.
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
	// Discoveries are how a ScrapeConfig finds targets. Those of one mechanism follow each other.
	Discoveries []Discovery
	Limits
	Formats       Formats
	Relabel       []*Relabel // may be shared between jobs
	MetricRelabel []*Relabel
	// HandWritten means that its name is unique only in its instance.
	HandWritten bool
	// Variables means that references to environment variables are expanded in all texts, as in hand-written jobs. $$
	// is a dollar in them then.
	Variables bool
}

// HTTPSD is an entry of http_sd_configs.
type HTTPSD struct {
	URL string
	// Everyone means that it lists the targets of all GrafanaAgents.
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

// ShardValue is what differs between the shards of a GrafanaAgent.
type ShardValue int

const (
	// NoShardValue is nothing.
	NoShardValue ShardValue = iota
	// ShardNumber is the number of the shard.
	ShardNumber
	// Zone is the name of the shard's zone.
	Zone
	// ShardInZone is the number of the shard among those of its zone.
	ShardInZone
)

// Relabel is one relabelling rule. With Shard, its expression begins with this value of the pod, and Regex follows.
type Relabel struct {
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

// Integrations is the integrations block of integrations-next. Integrations scrape themselves only if they say so.
type Integrations struct {
	Lists []IntegrationList
	// Instances are the metrics instances that integrations scrape themselves into.
	Instances []string
}

// IntegrationList is one <name>_configs.
type IntegrationList struct {
	Name    string // without _configs
	Configs []Map
	Sources []IntegrationSource // of Configs
	// JobLabel is the label job of its targets. It is empty if there are none.
	JobLabel string
}

// Named returns what people call one of the integrations: the field and its number.
func (l *IntegrationList) Named(i int) string { return fmt.Sprintf("%s_configs[%d]", l.Name, i) }

// Origin returns where one of the integrations comes from, if it is known.
func (l *IntegrationList) Origin(i int) Origin {
	if i < len(l.Sources) {
		return l.Sources[i].Origin
	}
	return Origin{}
}

// IntegrationSource is where the configuration of an integration comes from, and what the agent calls it.
type IntegrationSource struct {
	Origin
	// ConfigPath is what is in front of the path of a field of the configuration, with its separator.
	ConfigPath string
	// Instance is the label instance of its targets, in which variables are expanded, as far as it is known. OfPod
	// means that it is the name of the pod's host and the port.
	Instance Text
	OfPod    bool
}

// PodIntegrations are the integrations of a GrafanaAgent, for programs that collect them from its pods.
type PodIntegrations struct {
	// Agent is the GrafanaAgent.
	Namespace, Agent string
	// Once and EveryNode are what runs once and on every node. Nil for none.
	Once, EveryNode *Integrations
	// Pods finds their pods.
	Pods KubernetesSD
	// Used means that IntegrationMonitors find them in this way. It is set by the runtime's check.
	Used bool
}
