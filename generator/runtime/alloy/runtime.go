package alloy

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/podspec"
	"github.com/agentry-dev/agentry/generator/runtime"
)

const (
	image          = "grafana/alloy"
	defaultVersion = "v1.18.1"
	// container is the name of the agent's container: patches in spec.containers go by it, and so do dashboards.
	configKey = "config.alloy"
	// storagePath is beside the agent's data, on the same volume: the way back finds them as they were.
	storagePath = podspec.DataDir + "/alloy"
	// user is that of the image, which runs as root unless it is told otherwise.
	user = 473
)

// Runtime returns Grafana Alloy beside the config reloader of the Prometheus Operator.
func Runtime() runtime.Runtime {
	return runtime.Runtime{
		Name:  "alloy",
		Check: Check,
		Print: Print, PrintRedacted: PrintRedacted, Masked: masked,
		ConfigKey: configKey, CompressAboveBytes: runtime.DefaultCompressAboveBytes,
		Container: runtime.DefaultContainer, Port: runtime.DefaultPort, GraceSeconds: runtime.DefaultGraceSeconds,
		ConfigVolumes: runtime.ReloaderVolumes, Containers: containers,
		CheckPods: checkPods, PodSecurity: podSecurity,
	}
}

// masked returns nothing: Alloy compares components with their secrets, so a changed one is noticed.
func masked(*model.Config) (rest, inlined string) { return "", "" }

// checkPods reports settings of pods that Alloy does not have.
func checkPods(spec *v1alpha1.GrafanaAgentSpec) (out []diag.Finding) {
	found := func(severity diag.Severity, path, message, hint string) {
		out = append(out, diag.Finding{Severity: severity, Code: diag.RuntimeDiffers, Path: path, Message: message, Hint: hint})
	}
	switch run := imageOf(spec); {
	case spec.Image != nil && *spec.Image != "" && run != *spec.Image:
		found(diag.Warning, "spec.image", "is an image of the Grafana Agent: the pods run "+run, "name an image of Alloy, or none")
	case spec.Version != "" && (spec.Image == nil || *spec.Image == ""):
		found(diag.Warning, "spec.version", "is a version of the Grafana Agent: the pods run "+run, "remove it, or name an image of Alloy in spec.image")
	}
	if spec.EnableConfigReadAPI {
		found(diag.Info, "spec.enableConfigReadAPI", "Alloy does not have it: its page shows the components", "")
	}
	return out
}

// imageOf returns the image of a GrafanaAgent. In the place of the agent's image is that of Alloy in the same repository:
// the same custom resources are for both.
func imageOf(spec *v1alpha1.GrafanaAgentSpec) string {
	given := runtime.Image(spec.Image, image, "", defaultVersion)
	folder, name := given[:strings.LastIndexByte(given, '/')+1], given[strings.LastIndexByte(given, '/')+1:]
	if name, _, _ = strings.Cut(name, "@"); name != "agent" && !strings.HasPrefix(name, "agent:") {
		return given
	}
	return folder + "alloy:" + defaultVersion
}

// podSecurity returns what the Pod Security Standard "restricted" wants, unless the GrafanaAgent says something else.
func podSecurity(given *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	if given != nil {
		return given
	}
	id, yes := int64(user), true
	return &corev1.PodSecurityContext{RunAsUser: &id, RunAsGroup: &id, FSGroup: &id, RunAsNonRoot: &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

func containers(p runtime.Pod) []corev1.Container {
	env := append(runtime.Env(p), corev1.EnvVar{Name: "ALLOY_DEPLOY_MODE", Value: "operator"})
	env = append(append(env, runtime.ZoneEnv(p)...), p.SecretEnv...)
	return []corev1.Container{runtime.Reloader(p, env, configKey, runtime.DefaultPort), process(p, env)}
}

// process returns Alloy's container.
func process(p runtime.Pod, env []corev1.EnvVar) corev1.Container {
	args := []string{
		"run",
		podspec.ConfigDir + "/" + configKey,
		"--storage.path=" + storagePath,
		"--server.http.listen-addr=0.0.0.0:" + strconv.Itoa(runtime.DefaultPort),
	}
	if p.Spec.DisableReporting {
		args = append(args, "--disable-reporting")
	}
	if p.Spec.DisableSupportBundle {
		args = append(args, "--server.http.disable-support-bundle")
	}
	no := false
	return corev1.Container{
		Name:           runtime.DefaultContainer,
		Image:          imageOf(p.Spec),
		Args:           args,
		Ports:          []corev1.ContainerPort{{Name: p.PortName, ContainerPort: runtime.DefaultPort, Protocol: corev1.ProtocolTCP}},
		Env:            env,
		VolumeMounts:   p.Mounts,
		ReadinessProbe: runtime.Readiness(p.PortName),
		Resources:      p.Spec.Resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
