package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// PodLogs is a set of pods whose logs are read, and what is done to the lines.
//
// +kubebuilder:resource:path=podlogs,singular=podlogs,categories=agent-operator
type PodLogs struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which pods, and what is done to their lines.
	Spec PodLogsSpec `json:"spec,omitempty"`
}

// PodLogsSpec selects pods and describes the pipeline of their lines.
type PodLogsSpec struct {
	// Pod label whose value becomes the job label. Absent: namespace/name of the PodLogs.
	JobLabel string `json:"jobLabel,omitempty"`
	// Pod labels to copy onto the lines.
	PodTargetLabels []string `json:"podTargetLabels,omitempty"`
	// Which pods to read, by their labels.
	// +required
	Selector metav1.LabelSelector `json:"selector"`
	// Which namespaces to look for pods in. Absent: the PodLogs' own.
	NamespaceSelector monitoringv1.NamespaceSelector `json:"namespaceSelector,omitempty"`
	// What is done to the lines, in order.
	PipelineStages []*PipelineStageSpec `json:"pipelineStages,omitempty"`
	// Relabelling of the targets.
	RelabelConfigs []*RelabelConfig `json:"relabelings,omitempty"`
}
