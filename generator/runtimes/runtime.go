// Package runtimes defines what the generator must know about a program that runs a model. Each runtime is a folder
// below this one, and a line in generator.Runtimes.
package runtimes

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// ConfigVolume is the name of the volume that holds the Secret with the configuration.
const ConfigVolume = "config"

// Runtime is a program that pods run, with everything that differs between runtimes.
type Runtime struct {
	// Name is the name that users know.
	Name string

	// Check checks a configuration against the rules of the program. It returns it with additions that the program
	// needs, and does not change its argument.
	Check func(*model.Config) (*model.Config, diag.List)
	// Print returns the configuration as the program reads it. Of a long one it can say before what its text begins
	// with, more and more of it.
	Print func(c *model.Config, soFar func([]byte)) Printed
	// Masked returns the SHA-256 sums of a configuration without its secret values, and of these values. inlined is
	// empty if there are none, or if the program notices changes of secrets.
	Masked func(*model.Config) (rest, inlined string)
	// ConfigKey is the key of the configuration in its Secret.
	ConfigKey string
	// CompressAboveBytes is the size above which the configuration is compressed with gzip.
	CompressAboveBytes int

	// OwnMetrics are the metrics of the program about itself.
	OwnMetrics OwnMetrics

	// SubstitutesSecrets means that a secret in an environment variable is replaced in the text of the configuration,
	// and not read by the program.
	SubstitutesSecrets bool

	// Clusters means that the metrics pods of a GrafanaAgent share its targets among themselves, and not by rules. They
	// find each other by a Service.
	Clusters bool

	// ListsIntegrations means that the program tells the sd-aggregator which integrations it runs.
	ListsIntegrations bool

	// VersionLabel is the value of the label app.kubernetes.io/version of pods.
	VersionLabel string
	// Container is the name of the program's container.
	Container string
	// Port is the port that the program listens on in all pods.
	Port int32
	// GraceSeconds is the time that a pod gets to stop.
	GraceSeconds int64
	// ConfigVolumes returns the volumes and mounts for the Secret with the configuration. One of the volumes is
	// [ConfigVolume].
	ConfigVolumes func(secret string) ([]corev1.Volume, []corev1.VolumeMount)
	// Containers returns the containers of a pod, before users' patches.
	Containers func(Pod) []corev1.Container
	// FreeArgs returns the arguments of the containers of a GrafanaAgent to which users may give another value, and
	// whether they may leave them out. All others must be as Containers has them.
	FreeArgs func(*v1alpha1.GrafanaAgentSpec) map[string]bool
	// CheckPods reports settings of pods that the program does not have. Nil if it has all.
	CheckPods func(*v1alpha1.GrafanaAgentSpec) diag.List
	// PodSecurity returns the security context of a pod of one of the groups, from the one of the GrafanaAgent. Nil if
	// it is that.
	PodSecurity func(secretref.Group, *corev1.PodSecurityContext) *corev1.PodSecurityContext
}

// OwnMetrics are the names of metrics that each program names in its own way. An empty name is one that it does not
// export. Those of Prometheus's scrape manager and remote write, prometheus_target_... and
// prometheus_remote_storage_..., are the same in all.
type OwnMetrics struct {
	// Loaded is 1 if the newest configuration was accepted, else 0.
	Loaded string
	// Appended counts the samples that scrapes gave, and Series is the number of active series.
	Appended, Series string
	// WALFailures count failures of the write-ahead log.
	WALFailures []string
	// SentEntries and DroppedEntries count log lines that were sent, and lost.
	SentEntries, DroppedEntries string
}

// Printed is a configuration as a program reads it.
type Printed struct {
	Text
	// Redacted returns the text with a placeholder for every secret value.
	Redacted func() Text
	// Split returns the configuration as files of a folder, of about so many bytes each, if it does not fit into one
	// Secret. set is the name of the StatefulSet of the first shard, or "" if the pods are not shards. Nil if the
	// program reads one file.
	Split func(set string, bytes int) ([]File, error)
}

// File is one of the files of a configuration.
type File struct {
	// Part tells the files apart, and is the end of the name of the file's Secret. That of the first is empty.
	Part string
	// Key is the name of the file.
	Key  string
	Text Text
	// Only is the component in the file, if there is but one.
	Only string
}

// Pod holds the differences between the pods of one runtime.
type Pod struct {
	// Namespace and Agent are the namespace and the name of the GrafanaAgent.
	Namespace, Agent string
	Spec             *v1alpha1.GrafanaAgentSpec
	// Kind is one of the groups, not a set of them.
	Kind secretref.Group
	// Shard is the number of the pod's shard, and Shards how many there are.
	Shard, Shards int
	// Zone is the zone of the shard, or empty, and ShardInZone its number among the shards of the zone.
	Zone        string
	ShardInZone int
	// Cluster is the name of the Service by which the pods find each other, or empty if they do not.
	Cluster string
	// Config is the configuration that the program runs.
	Config *model.Config
	// IsFolder means that the configuration is the folder that [FolderVolume] mounts.
	IsFolder bool
	// PortName is the name of the port where the program listens.
	PortName string
	// SecretEnv are the variables that replace secrets in the configuration.
	SecretEnv []corev1.EnvVar
	// Mounts are all mounts of the pod. Each container has them.
	Mounts []corev1.VolumeMount
}
