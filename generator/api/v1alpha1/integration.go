package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Integration runs one of the agent's integrations, which sends its telemetry itself.
//
// +kubebuilder:resource:path=integrations,singular=integration,categories=agent-operator
type Integration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which integration to run, and how.
	Spec IntegrationSpec `json:"spec,omitempty"`
}

// IntegrationSpec names an integration and configures it.
type IntegrationSpec struct {
	// The agent's name of the integration, as under integrations-next: mysql, node_exporter.
	// +required
	Name string `json:"name"`
	// Where it runs.
	// +required
	Type IntegrationType `json:"type"`
	// The integration's configuration as the agent takes it: a JSON object of any shape.
	// +required
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config apiextensionsv1.JSON `json:"config"`
	// Additional volumes of the integration's pod; names are made unique.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Additional mounts of the integration's pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Secret keys of the Integration's namespace, each a file
	// /etc/grafana-agent/integrations/secrets/<namespace>/<secret>/<key>.
	Secrets []corev1.SecretKeySelector `json:"secrets,omitempty"`
	// ConfigMap keys of the Integration's namespace, each a file
	// /etc/grafana-agent/integrations/configMaps/<namespace>/<configmap>/<key>.
	ConfigMaps []corev1.ConfigMapKeySelector `json:"configMaps,omitempty"`
}

// IntegrationType says where an integration runs.
type IntegrationType struct {
	// Run on every node instead of once.
	AllNodes bool `json:"allNodes,omitempty"`
	// There may be only one of this name in a hierarchy.
	Unique bool `json:"unique,omitempty"`
}
