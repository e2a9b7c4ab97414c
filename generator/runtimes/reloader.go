package runtimes

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// What the runtimes' pods have in common: the config reloader of the Prometheus Operator, and environment variables.
const (
	reloaderImage     = "quay.io/prometheus-operator/prometheus-config-reloader"
	defaultReloader   = "v0.67.1"
	reloaderContainer = "config-reloader"
)

// What the operator gives the agent's pods, and a pod keeps when its runtime changes: Services, probes and patches in
// spec.containers go by it.
const (
	DefaultContainer    = "grafana-agent"
	DefaultPort         = 8080
	DefaultGraceSeconds = 4800
	// DefaultCompressAboveBytes is the operator's threshold. The config reloader detects compressed files itself.
	DefaultCompressAboveBytes = 100 << 10
)

// ReloaderVolumes returns the volumes that the reloader reads the configuration from and writes it to.
func ReloaderVolumes(secret string) ([]corev1.Volume, []corev1.VolumeMount) {
	const out = "config-out"
	return []corev1.Volume{
			{Name: ConfigVolume, VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: secret}}},
			{Name: out, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}, []corev1.VolumeMount{
			{Name: ConfigVolume, ReadOnly: true, MountPath: podspec.ConfigInDir},
			{Name: out, MountPath: podspec.ConfigDir},
		}
}

// FolderVolume returns the volume and the mount for a configuration of several files, each in a Secret. The kubelet
// changes all files at once.
func FolderVolume(secrets []string) ([]corev1.Volume, []corev1.VolumeMount) {
	var sources []corev1.VolumeProjection
	for _, name := range secrets {
		one := corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
		sources = append(sources, corev1.VolumeProjection{Secret: &one})
	}
	return []corev1.Volume{{Name: ConfigVolume,
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}}},
		[]corev1.VolumeMount{{Name: ConfigVolume, ReadOnly: true, MountPath: podspec.ConfigInDir}}
}

// Reloader returns the container that watches the mounted configuration, unzips it, replaces $(NAME) by environment
// variables and makes the program reload. key is the name of the file, and port where the program listens. A folder is
// only watched.
func Reloader(p Pod, env []corev1.EnvVar, key string, port int) corev1.Container {
	no, yes := false, true
	args := []string{
		"--config-file=" + podspec.ConfigInDir + "/" + key,
		"--config-envsubst-file=" + podspec.ConfigDir + "/" + key,
		"--watch-interval=1m",
		"--statefulset-ordinal-from-envvar=POD_NAME",
	}
	if p.IsFolder {
		args = []string{"--watched-dir=" + podspec.ConfigInDir, "--watch-interval=1m"}
	}
	return corev1.Container{
		Name:         reloaderContainer,
		Image:        Image(p.Spec.ConfigReloaderImage, reloaderImage, p.Spec.ConfigReloaderVersion, defaultReloader),
		Args:         append(args, "--reload-url=http://127.0.0.1:"+strconv.Itoa(port)+"/-/reload"),
		Env:          env,
		VolumeMounts: p.Mounts,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// Env returns the variables of a kind of pods, in the operator's order.
func Env(p Pod) []corev1.EnvVar {
	out := []corev1.EnvVar{fromField("POD_NAME", "metadata.name"), constant("AGENT_DEPLOY_MODE", "operator")}
	shard, shards := constant("SHARD", strconv.Itoa(p.Shard)), constant("SHARDS", strconv.Itoa(p.Shards))
	node := fromField("HOSTNAME", "spec.nodeName")
	switch p.Kind {
	case secretref.Metrics:
		return append(out, shard, shards)
	case secretref.Logs:
		return append(out, node, shard)
	}
	return append(out, shard, shards, node)
}

// ZoneEnv returns the variables of a shard that is in a zone.
func ZoneEnv(p Pod) []corev1.EnvVar {
	if p.Zone == "" {
		return nil
	}
	return []corev1.EnvVar{constant("TOPOLOGY_ZONE", p.Zone), constant("INZONE_SHARD", strconv.Itoa(p.ShardInZone))}
}

// ShardValues returns what differs between shards, from the variables of the pod of one.
func ShardValues(pod *corev1.PodSpec) map[model.ShardValue]string {
	names := map[string]model.ShardValue{"SHARD": model.ShardNumber, "TOPOLOGY_ZONE": model.Zone,
		"INZONE_SHARD": model.ShardInZone}
	out := map[model.ShardValue]string{}
	for _, c := range pod.Containers {
		for _, e := range c.Env {
			if value, isOne := names[e.Name]; isOne {
				out[value] = e.Value
			}
		}
	}
	return out
}

// Image returns the full image if it is set, otherwise the repository with the version.
func Image(full *string, repository, version, defaultVersion string) string {
	if full != nil && *full != "" {
		return *full
	}
	return repository + ":" + cmp.Or(version, defaultVersion)
}

// Readiness returns the probe of a program that is ready once it runs its configuration.
func Readiness(portName string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/-/ready",
			Port: intstr.FromString(portName)}},
		TimeoutSeconds: 3, PeriodSeconds: 5, FailureThreshold: 120,
	}
}

// constant returns an environment variable with a fixed value.
func constant(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// fromField returns an environment variable that differs in each pod.
func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}
