package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MetricsIntegration runs one of the agent's metrics integrations (exporters), which is
// scraped by way of an IntegrationMonitor.
//
// +kubebuilder:resource:path=metricsintegrations,singular=metricsintegration,categories=agent-operator
type MetricsIntegration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which integration to run, and how.
	// +required
	Spec MetricsIntegrationSpec `json:"spec"`
}

// MetricsIntegrationSpec names an integration and configures it.
type MetricsIntegrationSpec struct {
	// The agent's name of the integration: node_exporter, mysqld_exporter.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Where it runs: on every node, once, or any number of times.
	// +kubebuilder:default=normal
	Type MetricsIntegrationType `json:"type,omitempty"`
	// The integration's configuration: an object, or a string that holds it as YAML.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *apiextensionsv1.JSON `json:"config,omitempty"`
	// Additional volumes of the integration's pod; names are made unique.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Additional mounts of the integration's pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Secrets of the MetricsIntegration's namespace to mount.
	Secrets []KeyOrName `json:"secrets,omitempty"`
	// ConfigMaps of the MetricsIntegration's namespace to mount.
	ConfigMaps []KeyOrName `json:"configMaps,omitempty"`
}

// MetricsIntegrationType is where a MetricsIntegration runs.
//
// +kubebuilder:validation:Enum=daemonset;singleton;unique;normal
type MetricsIntegrationType string

// The types of MetricsIntegrations.
const (
	// TypeDaemonSet runs on every node; there may be only one of a name in a hierarchy.
	TypeDaemonSet MetricsIntegrationType = "daemonset"
	// TypeSingleton runs once; there may be only one of a name in a hierarchy.
	TypeSingleton MetricsIntegrationType = "singleton"
	// TypeUnique is the name of a singleton in the prototypes of the RFC.
	TypeUnique MetricsIntegrationType = "unique"
	// TypeNormal runs once per object; there may be any number of them.
	TypeNormal MetricsIntegrationType = "normal"
)
