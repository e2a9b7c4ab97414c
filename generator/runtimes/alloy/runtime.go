package alloy

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/catalogue"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

const (
	image = "grafana/alloy"
	// container is the name of the agent's container: patches in spec.containers go by it, and so do dashboards.
	configKey = "config.alloy"
	// storagePath is beside the agent's data, on the same volume: the way back finds them as they were.
	storagePath = podspec.DataDir + "/alloy"
	// ownStorage is for pods without a volume for data: any user can write there.
	ownStorage = "/tmp/alloy"
	// user is the image's own user; the image runs as root unless it is told otherwise.
	user = 473
)

// Name is the name of the runtime.
const Name = "alloy"

// Runtime returns Grafana Alloy, in the version that agentry knows best, beside the config reloader of the Prometheus
// Operator.
func Runtime() runtimes.Runtime { return At(catalogue.Default()) }

// At returns a version of Grafana Alloy. What it does not have is an error of what asks for it.
func At(version catalogue.Version) runtimes.Runtime { return program(version, false) }

// Clustered is [At], with pods that share their targets by Alloy's clustering.
func Clustered(version catalogue.Version) runtimes.Runtime { return program(version, true) }

func program(version catalogue.Version, clusters bool) runtimes.Runtime {
	in := imageIn(version.String())
	checkPods := in.checkPods
	if clusters {
		checkPods = func(spec *v1alpha1.GrafanaAgentSpec) diag.List {
			return append(in.checkPods(spec), replicas(spec)...)
		}
	}
	return runtimes.Runtime{
		Name:  Name,
		Check: func(c *model.Config) (*model.Config, diag.List) { return check(c, version, clusters) },
		Print: printed, Masked: masked,
		ConfigKey: configKey, CompressAboveBytes: runtimes.DefaultCompressAboveBytes,
		VersionLabel: version.String(), Container: runtimes.DefaultContainer, Port: runtimes.DefaultPort,
		GraceSeconds:  runtimes.DefaultGraceSeconds,
		ConfigVolumes: runtimes.ReloaderVolumes, Containers: in.containers,
		FreeArgs:  freeArgs,
		CheckPods: checkPods, Clusters: clusters, PodSecurity: podSecurity, OwnMetrics: ownMetrics(),
	}
}

// freeArgs are the arguments that may be others.
func freeArgs(*v1alpha1.GrafanaAgentSpec) map[string]bool {
	return map[string]bool{"watch-interval": true, "storage.path": false, "disable-reporting": true,
		"server.http.disable-support-bundle": true}
}

// ownMetrics are named in the packages internal/static/config/instrumentation, internal/static/metrics/wal and
// internal/component/common/loki/client of Alloy.
func ownMetrics() runtimes.OwnMetrics {
	return runtimes.OwnMetrics{
		Loaded: "alloy_config_last_load_successful", Appended: "prometheus_remote_write_wal_samples_appended_total",
		Series: "prometheus_remote_write_wal_storage_active_series",
		WALFailures: []string{"prometheus_remote_write_wal_corruptions_total",
			"prometheus_wal_watcher_record_decode_failures_total", "prometheus_tsdb_wal_writes_failed_total"},
		SentEntries: "loki_write_sent_entries_total", DroppedEntries: "loki_write_dropped_entries_total",
	}
}

// masked returns nothing: Alloy compares components with their secrets, so a changed one is noticed.
func masked(*model.Config) (rest, inlined string) { return "", "" }

// imageIn is the version of Alloy that pods run, unless their GrafanaAgent names an image.
type imageIn string

// checkPods reports settings of pods that Alloy does not have.
func (in imageIn) checkPods(spec *v1alpha1.GrafanaAgentSpec) (out diag.List) {
	found := func(severity diag.Severity, path, message, hint string) {
		out = append(out, diag.RuntimeDiffers.At(path, "%s", message).As(severity).WithHint(hint))
	}
	switch run := in.of(spec); {
	case spec.Image != nil && *spec.Image != "" && run != *spec.Image:
		found(diag.Warning, "spec.image", "is an image of the Grafana Agent: the pods run "+run,
			"name an image of Alloy, or none")
	case spec.Version != "" && (spec.Image == nil || *spec.Image == ""):
		found(diag.Warning, "spec.version", "is a version of the Grafana Agent: the pods run "+run,
			"remove it, or name an image of Alloy in spec.image")
	}
	if own := versionOf(in.of(spec)); own != "" && own != versionOf(image+":"+string(in)) {
		one := "is Alloy " + own + ", and what is rendered is for " + string(in) + ": the pods may refuse it"
		found(diag.Warning, "spec.image", one,
			"set runtimeVersion to the version of the image, or name the image "+image+":"+string(in))
	}
	if spec.EnableConfigReadAPI {
		found(diag.Info, "spec.enableConfigReadAPI", "Alloy does not have it: its page shows the components", "")
	}
	return out
}

// of returns the image of a GrafanaAgent. It replaces the agent's image by Alloy's in the same repository, because the
// same custom resources serve both.
func (in imageIn) of(spec *v1alpha1.GrafanaAgentSpec) string {
	given := runtimes.Image(spec.Image, image, "", string(in))
	folder, name := given[:strings.LastIndexByte(given, '/')+1], given[strings.LastIndexByte(given, '/')+1:]
	if name, _, _ = strings.Cut(name, "@"); name != "agent" && !strings.HasPrefix(name, "agent:") {
		return given
	}
	return folder + "alloy:" + string(in)
}

// alloyTag matches images of Alloy whose tag begins with a version, as in alloy:v1.16.2-boringcrypto.
var alloyTag = lazyregexp.New(`/alloy:(v\d+\.\d+)\.\d+[^/]*$`)

// versionOf returns the version of an image of Alloy without its patch, or "" if its name does not tell.
func versionOf(image string) string {
	if m := alloyTag.FindStringSubmatch("/" + image); m != nil {
		return m[1]
	}
	return ""
}

// podSecurity returns the security context of the GrafanaAgent or, if it has none, one that the Pod Security Standard
// "restricted" allows. Pods that read the logs of their node run as root, because root owns these files and the folder
// of positions that the agent has made. So do pods with integrations about their node, as with the agent.
func podSecurity(kind secretref.Group, given *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	if given != nil {
		return given
	}
	profile := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if kind == secretref.Logs || kind == secretref.DaemonSet {
		root := int64(0)
		return &corev1.PodSecurityContext{RunAsUser: &root, RunAsGroup: &root, SeccompProfile: profile}
	}
	id, yes := int64(user), true
	return &corev1.PodSecurityContext{RunAsUser: &id, RunAsGroup: &id, FSGroup: &id, RunAsNonRoot: &yes,
		SeccompProfile: profile}
}

// security returns the security context of a container. Where the agent is privileged to read logs, it may read any
// file of its mounts, which are read-only, and is not confined by SELinux, which would hide the node's files. Nodes
// without SELinux ignore that. Integrations about a node keep what root may do by default: exporters read what belongs
// to other users.
func security(kind secretref.Group) *corev1.SecurityContext {
	no := false
	if kind == secretref.DaemonSet {
		return &corev1.SecurityContext{AllowPrivilegeEscalation: &no}
	}
	s := &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	if kind == secretref.Logs {
		s.Capabilities.Add = []corev1.Capability{"DAC_READ_SEARCH"}
		s.SELinuxOptions = &corev1.SELinuxOptions{Type: "spc_t"}
	}
	return s
}

// storage returns the folder for data. All pods of a node that read logs have the same volume, so each GrafanaAgent has
// a folder of its own.
func storage(p runtimes.Pod) string {
	switch {
	case p.Kind == secretref.Logs:
		return storagePath + "/" + p.Namespace + "/" + p.Agent
	case !slices.ContainsFunc(p.Mounts, func(m corev1.VolumeMount) bool { return m.MountPath == podspec.DataDir }):
		return ownStorage
	}
	return storagePath
}

func (in imageIn) containers(p runtimes.Pod) []corev1.Container {
	env := append(runtimes.Env(p), corev1.EnvVar{Name: "ALLOY_DEPLOY_MODE", Value: "operator"})
	env = append(append(env, runtimes.ZoneEnv(p)...), p.SecretEnv...)
	reloader := runtimes.Reloader(p, env, configKey, runtimes.DefaultPort)
	return []corev1.Container{reloader, process(p, in.of(p.Spec), env)}
}

// process returns Alloy's container.
func process(p runtimes.Pod, image string, env []corev1.EnvVar) corev1.Container {
	config := podspec.ConfigDir + "/" + configKey
	if p.IsFolder {
		config = podspec.ConfigInDir
	}
	args := []string{
		"run",
		config,
		"--storage.path=" + storage(p),
		"--server.http.listen-addr=0.0.0.0:" + strconv.Itoa(runtimes.DefaultPort),
	}
	args = append(append(args, clusterArgs(p)...), stability(p.Config)...)
	if p.Spec.DisableReporting {
		args = append(args, "--disable-reporting")
	}
	if p.Spec.DisableSupportBundle {
		args = append(args, "--server.http.disable-support-bundle")
	}
	return corev1.Container{
		Name:  runtimes.DefaultContainer,
		Image: image,
		Args:  args,
		Ports: []corev1.ContainerPort{{Name: p.PortName, ContainerPort: runtimes.DefaultPort,
			Protocol: corev1.ProtocolTCP}},
		Env:                      env,
		VolumeMounts:             p.Mounts,
		ReadinessProbe:           runtimes.Readiness(p.PortName),
		Resources:                p.Spec.Resources,
		SecurityContext:          security(p.Kind),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
