package agent

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/agentry-dev/agentry/generator/podspec"
	"github.com/agentry-dev/agentry/generator/runtime"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// What the operator v0.44.8 gives to its pods.
const (
	image             = "grafana/agent"
	defaultVersion    = "v0.44.8"
	reloaderImage     = "quay.io/prometheus-operator/prometheus-config-reloader"
	defaultReloader   = "v0.67.1"
	container         = "grafana-agent"
	reloaderContainer = "config-reloader"
	port              = 8080
	graceSeconds      = 4800
	configKey         = "agent.yml"
	// compressAboveBytes is the operator's threshold. The config reloader detects compressed files itself.
	compressAboveBytes = 100 << 10
)

// Runtime returns the Grafana Agent beside the config reloader of the Prometheus Operator.
func Runtime() runtime.Runtime {
	return runtime.Runtime{
		Name:  "agent",
		Check: Check,
		Print: Print, PrintRedacted: PrintRedacted, Masked: Masked,
		ConfigKey: configKey, CompressAboveBytes: compressAboveBytes,
		Container: container, Port: port, GraceSeconds: graceSeconds,
		ConfigVolumes: configVolumes, Containers: containers,
	}
}

// configVolumes returns the volumes that the reloader reads the configuration from and writes it to.
func configVolumes(secret string) ([]corev1.Volume, []corev1.VolumeMount) {
	const out = "config-out"
	return []corev1.Volume{
			{Name: runtime.ConfigVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}},
			{Name: out, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}, []corev1.VolumeMount{
			{Name: runtime.ConfigVolume, ReadOnly: true, MountPath: podspec.ConfigInDir},
			{Name: out, MountPath: podspec.ConfigDir},
		}
}

func containers(p runtime.Pod) []corev1.Container {
	env := append([]corev1.EnvVar{fromField("POD_NAME", "metadata.name"), constant("AGENT_DEPLOY_MODE", "operator")}, kindEnv(p)...)
	reload := append(slices.Clone(env), p.SecretEnv...)
	if p.Zone != "" {
		reload = append(reload, constant("TOPOLOGY_ZONE", p.Zone), constant("INZONE_SHARD", strconv.Itoa(p.ShardInZone)))
	}
	return []corev1.Container{reloader(p, reload), process(p, env)}
}

// kindEnv returns the variables in the configuration of a kind of pods, in the operator's order.
func kindEnv(p runtime.Pod) []corev1.EnvVar {
	shard, shards := constant("SHARD", strconv.Itoa(p.Shard)), constant("SHARDS", strconv.Itoa(p.Shards))
	node := fromField("HOSTNAME", "spec.nodeName")
	switch p.Kind {
	case secretref.Metrics:
		return []corev1.EnvVar{shard, shards}
	case secretref.Logs:
		return []corev1.EnvVar{node, shard}
	}
	return []corev1.EnvVar{shard, shards, node}
}

// reloader returns the container that watches the mounted configuration, replaces $(NAME) by environment variables
// and makes the agent reload.
func reloader(p runtime.Pod, env []corev1.EnvVar) corev1.Container {
	no, yes := false, true
	return corev1.Container{
		Name:  reloaderContainer,
		Image: imageOf(p.Spec.ConfigReloaderImage, reloaderImage, p.Spec.ConfigReloaderVersion, defaultReloader),
		Args: []string{
			"--config-file=" + podspec.ConfigInDir + "/" + configKey,
			"--config-envsubst-file=" + podspec.ConfigDir + "/" + configKey,
			"--watch-interval=1m",
			"--statefulset-ordinal-from-envvar=POD_NAME",
			"--reload-url=http://127.0.0.1:" + strconv.Itoa(port) + "/-/reload",
		},
		Env:          env,
		VolumeMounts: p.Mounts,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// process returns the agent's container. It is privileged if it reads the logs of its node.
func process(p runtime.Pod, env []corev1.EnvVar) corev1.Container {
	args := []string{
		"-config.file=" + podspec.ConfigDir + "/" + configKey,
		"-config.expand-env=true",
		"-server.http.address=0.0.0.0:" + strconv.Itoa(port),
		"-enable-features=integrations-next",
	}
	for _, f := range [...]struct {
		on   bool
		flag string
	}{
		{p.Spec.EnableConfigReadAPI, "-config.enable-read-api"},
		{p.Spec.DisableReporting, "-disable-reporting"},
		{p.Spec.DisableSupportBundle, "-disable-support-bundle"},
	} {
		if f.on {
			args = append(args, f.flag)
		}
	}
	privileged := p.Kind == secretref.Logs
	return corev1.Container{
		Name:         container,
		Image:        imageOf(p.Spec.Image, image, p.Spec.Version, defaultVersion),
		Args:         args,
		Ports:        []corev1.ContainerPort{{Name: p.PortName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Env:          env,
		VolumeMounts: p.Mounts,
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/-/ready", Port: intstr.FromString(p.PortName)}},
			TimeoutSeconds: 3, PeriodSeconds: 5, FailureThreshold: 120,
		},
		Resources:                p.Spec.Resources,
		SecurityContext:          &corev1.SecurityContext{Privileged: &privileged},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// imageOf returns the full image if it is set, otherwise the repository with the version.
func imageOf(full *string, repository, version, defaultVersion string) string {
	if full != nil && *full != "" {
		return *full
	}
	if version == "" {
		version = defaultVersion
	}
	return repository + ":" + version
}

// constant returns an environment variable with a fixed value.
func constant(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// fromField returns an environment variable that differs in each pod.
func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}
