package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// GrafanaAgent is the root of a hierarchy: one deployment of agents, and the selectors
// that find what they do.
//
// +kubebuilder:resource:path=grafanaagents,singular=grafanaagent,categories=agent-operator
type GrafanaAgent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the agents run with, and which objects they serve.
	Spec GrafanaAgentSpec `json:"spec,omitempty"`
}

// GrafanaAgentSpec describes the pods that are common to metrics, logs and integrations,
// and the three subsystems.
type GrafanaAgentSpec struct {
	// Log level of the agent: debug, info, warn or error. Absent: the agent's own (info).
	LogLevel string `json:"logLevel,omitempty"`
	// Log format of the agent: logfmt or json. Absent: the agent's own (logfmt).
	LogFormat string `json:"logFormat,omitempty"`
	// How agents reach the Kubernetes API for service discovery. Absent: the pod's own
	// service account.
	APIServerConfig *APIServerConfig `json:"apiServer,omitempty"`
	// Labels and annotations for the pods. The name is not used.
	PodMetadata *monitoringv1.EmbeddedObjectMetadata `json:"podMetadata,omitempty"`
	// Tag of the agent's image when image is not set, for example v0.44.8.
	Version string `json:"version,omitempty"`
	// A paused GrafanaAgent keeps what was last rendered for it.
	Paused bool `json:"paused,omitempty"`
	// The agent's whole image reference; it wins over version.
	Image *string `json:"image,omitempty"`
	// Tag of the config reloader's image when configReloaderImage is not set.
	ConfigReloaderVersion string `json:"configReloaderVersion,omitempty"`
	// The config reloader's whole image reference; it wins over configReloaderVersion.
	ConfigReloaderImage *string `json:"configReloaderImage,omitempty"`
	// Secrets of the GrafanaAgent's namespace to pull the images with.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// Where metrics pods keep their write-ahead log. Absent: an emptyDir.
	Storage *monitoringv1.StorageSpec `json:"storage,omitempty"`
	// Additional volumes of every pod.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Additional mounts of both generated containers in every pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Resources of the agent's container in every pod; the config reloader gets none.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Nodes that pods may run on.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Service account of the pods. It is not created.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Secrets of the GrafanaAgent's namespace, each mounted in both generated containers at
	// /var/lib/grafana-agent/extra-secrets/<name>.
	Secrets []string `json:"secrets,omitempty"`
	// ConfigMaps of the GrafanaAgent's namespace, each mounted in both generated containers
	// at /var/lib/grafana-agent/extra-configmaps/<name>.
	ConfigMaps []string `json:"configMaps,omitempty"`
	// Affinity of the pods.
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Tolerations of the pods.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Topology spread constraints of the pods.
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// Security context of the pods.
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// Containers to add to every pod, or strategic merge patches for the generated ones
	// (grafana-agent, config-reloader) where the name is equal.
	Containers []corev1.Container `json:"containers,omitempty"`
	// Init containers of every pod.
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Priority class of the pods.
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Runtime class of the pods.
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Name of the agent's HTTP port in pods and Services. Absent: http-metrics.
	PortName string `json:"portName,omitempty"`

	// Metrics: which MetricsInstances to run, and what they have in common.
	Metrics MetricsSubsystemSpec `json:"metrics,omitempty"`
	// Logs: which LogsInstances to run, and what they have in common.
	Logs LogsSubsystemSpec `json:"logs,omitempty"`
	// Integrations: which Integrations and MetricsIntegrations to run.
	Integrations IntegrationsSubsystemSpec `json:"integrations,omitempty"`

	// Serve the agent's running configuration at its read API.
	// +kubebuilder:default=false
	EnableConfigReadAPI bool `json:"enableConfigReadAPI,omitempty"`
	// Do not send usage reports to Grafana Labs.
	// +kubebuilder:default=false
	DisableReporting bool `json:"disableReporting,omitempty"`
	// Do not serve support bundles.
	// +kubebuilder:default=false
	DisableSupportBundle bool `json:"disableSupportBundle,omitempty"`
}

// MetricsSubsystemSpec selects MetricsInstances and sets what holds for all of them.
type MetricsSubsystemSpec struct {
	// Where to send metrics of instances that have no remoteWrite of their own.
	RemoteWrite []RemoteWriteSpec `json:"remoteWrite,omitempty"`
	// Pods of every shard that scrape the same targets. Absent: 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// Number of shards that targets are distributed over. Absent or below 1: 1.
	Shards *int32 `json:"shards,omitempty"`
	// Name of the external label that names the replica. Absent: __replica__; empty: no label.
	ReplicaExternalLabelName *string `json:"replicaExternalLabelName,omitempty"`
	// Name of the external label that names the GrafanaAgent as namespace/name. Absent:
	// cluster; empty: no label.
	MetricsExternalLabelName *string `json:"metricsExternalLabelName,omitempty"`
	// Time between scrapes where a monitor sets none. Absent: the agent's own (1m).
	ScrapeInterval string `json:"scrapeInterval,omitempty"`
	// Time a scrape may take where a monitor sets none. Absent: the agent's own (10s).
	ScrapeTimeout string `json:"scrapeTimeout,omitempty"`
	// Labels to add to everything that is sent.
	ExternalLabels map[string]string `json:"externalLabels,omitempty"`
	// Whether ServiceMonitors may read files of the agent's pod.
	ArbitraryFSAccessThroughSMs monitoringv1.ArbitraryFSAccessThroughSMsConfig `json:"arbitraryFSAccessThroughSMs,omitempty"`
	// Scraped labels never win over those of the target, whatever monitors say.
	OverrideHonorLabels bool `json:"overrideHonorLabels,omitempty"`
	// Scraped timestamps are ignored, whatever monitors say.
	OverrideHonorTimestamps bool `json:"overrideHonorTimestamps,omitempty"`
	// Monitors find targets in their own namespace only, whatever they say.
	IgnoreNamespaceSelectors bool `json:"ignoreNamespaceSelectors,omitempty"`
	// Label that is always set to the monitor's namespace.
	EnforcedNamespaceLabel string `json:"enforcedNamespaceLabel,omitempty"`
	// Samples a scrape may return, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedSampleLimit *uint64 `json:"enforcedSampleLimit,omitempty"`
	// Targets a job may have, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedTargetLimit *uint64 `json:"enforcedTargetLimit,omitempty"`
	// What the Prometheus object has and the operator's GrafanaAgent had not.
	PrometheusSettings `json:",inline"`
	// Which MetricsInstances to run, by their labels.
	InstanceSelector *metav1.LabelSelector `json:"instanceSelector,omitempty"`
	// Which namespaces to look for MetricsInstances in, by their labels.
	InstanceNamespaceSelector *metav1.LabelSelector `json:"instanceNamespaceSelector,omitempty"`
}

// PrometheusSettings are fields of the Prometheus Operator's Prometheus object, for compatibility mode current. agentry
// only.
type PrometheusSettings struct {
	// Settings that monitors share, by name. References are resolved in the GrafanaAgent's namespace.
	// +listType=map
	// +listMapKey=name
	ScrapeClasses []monitoringv1.ScrapeClass `json:"scrapeClasses,omitempty"`
	// Labels of pods that every ServiceMonitor and PodMonitor copies, beside its own podTargetLabels.
	PodTargetLabels []string `json:"podTargetLabels,omitempty"`
	// What ServiceMonitors that do not say find their targets by. Absent: Endpoints.
	ServiceDiscoveryRole *monitoringv1.ServiceDiscoveryRole `json:"serviceDiscoveryRole,omitempty"`
	// Monitors that enforcedNamespaceLabel does not concern.
	ExcludedFromEnforcement []monitoringv1.ObjectReference `json:"excludedFromEnforcement,omitempty"`
	// How targets are distributed over shards. Absent: by their address.
	ShardingStrategy *monitoringv1.ShardingStrategy `json:"shardingStrategy,omitempty"`

	// Labels a sample may have, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedLabelLimit *int64 `json:"enforcedLabelLimit,omitempty"`
	// Bytes a label name may have, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedLabelNameLengthLimit *int64 `json:"enforcedLabelNameLengthLimit,omitempty"`
	// Bytes a label value may have, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedLabelValueLengthLimit *int64 `json:"enforcedLabelValueLengthLimit,omitempty"`
	// Dropped targets that are kept in memory, whatever monitors say.
	// +kubebuilder:validation:Minimum=0
	EnforcedKeepDroppedTargets *int64 `json:"enforcedKeepDroppedTargets,omitempty"`
	// Size of an answer, whatever monitors say.
	EnforcedBodySizeLimit monitoringv1.ByteSize `json:"enforcedBodySizeLimit,omitempty"`

	// Samples a scrape may return where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	SampleLimit *int64 `json:"sampleLimit,omitempty"`
	// Targets a job may have where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	TargetLimit *int64 `json:"targetLimit,omitempty"`
	// Labels a sample may have where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	LabelLimit *int64 `json:"labelLimit,omitempty"`
	// Bytes a label name may have where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	LabelNameLengthLimit *int64 `json:"labelNameLengthLimit,omitempty"`
	// Bytes a label value may have where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	LabelValueLengthLimit *int64 `json:"labelValueLengthLimit,omitempty"`
	// Dropped targets that are kept in memory where a monitor sets no limit.
	// +kubebuilder:validation:Minimum=0
	KeepDroppedTargets *int64 `json:"keepDroppedTargets,omitempty"`
	// Size of an answer where a monitor sets no limit.
	BodySizeLimit *monitoringv1.ByteSize `json:"bodySizeLimit,omitempty"`
}

// LogsSubsystemSpec selects LogsInstances and sets what holds for all of them.
type LogsSubsystemSpec struct {
	// Where to send logs of instances that have no clients of their own.
	Clients []LogsClientSpec `json:"clients,omitempty"`
	// Name of the external label that names the GrafanaAgent as namespace/name. Absent:
	// cluster; empty: no label.
	LogsExternalLabelName *string `json:"logsExternalLabelName,omitempty"`
	// Which LogsInstances to run, by their labels.
	InstanceSelector *metav1.LabelSelector `json:"instanceSelector,omitempty"`
	// Which namespaces to look for LogsInstances in, by their labels.
	InstanceNamespaceSelector *metav1.LabelSelector `json:"instanceNamespaceSelector,omitempty"`
	// PodLogs find pods in their own namespace only, whatever they say.
	IgnoreNamespaceSelectors bool `json:"ignoreNamespaceSelectors,omitempty"`
	// Label that is always set to the PodLogs' namespace.
	EnforcedNamespaceLabel string `json:"enforcedNamespaceLabel,omitempty"`
}

// IntegrationsSubsystemSpec selects Integrations and MetricsIntegrations alike.
type IntegrationsSubsystemSpec struct {
	// Which integrations to run, by their labels.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Which namespaces to look for integrations in, by their labels.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
}
