// Package runtime says what the generator must know of a program that runs a model. Each
// runtime is a folder below this one, and a line in generator.Runtimes.
package runtime

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// ConfigVolume is the name of the volume that holds the Secret with the configuration.
const ConfigVolume = "config"

// Runtime is a program that pods run, with all that is different from one to the other.
type Runtime struct {
	// Name is what users call it.
	Name string

	// Check holds a configuration to the rules of the program, and returns it with what the
	// program needs besides. It does not change what it is given.
	Check func(*model.Config) (*model.Config, []model.Finding)
	// Print returns the configuration as the program reads it, PrintRedacted with a placeholder
	// for every secret value.
	Print, PrintRedacted func(*model.Config) []byte
	// Masked returns the SHA-256 sums of a configuration without its secret values, and of these
	// values; inlined is empty when there are none, or when the program notices that only
	// secrets changed.
	Masked func(*model.Config) (rest, inlined string)
	// ConfigKey is the key of the configuration in its Secret.
	ConfigKey string
	// CompressAboveBytes is from which size on the configuration is compressed with gzip.
	CompressAboveBytes int

	// Container is the name of the container in which the program runs.
	Container string
	// Port is where it listens, for all pods.
	Port int32
	// GraceSeconds is the time that a pod gets to stop.
	GraceSeconds int64
	// ConfigVolumes are the volumes by which the configuration comes into the pod from a Secret;
	// one of them is [ConfigVolume].
	ConfigVolumes func(secret string) ([]corev1.Volume, []corev1.VolumeMount)
	// Containers are the containers of a pod, before users' patches.
	Containers func(Pod) []corev1.Container
}

// Pod is what is different between the pods of one runtime.
type Pod struct {
	Spec *v1alpha1.GrafanaAgentSpec
	// Kind is one of the groups, not a set of them.
	Kind secretref.Group
	// Shard is the number of the pod's shard, of as many as Shards.
	Shard, Shards int
	// PortName is the name of the port where the program listens.
	PortName string
	// SecretEnv are the variables that the configuration has in place of secrets.
	SecretEnv []corev1.EnvVar
	// Mounts are all mounts of the pod; each container has them.
	Mounts []corev1.VolumeMount
}
