package agent

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
	"github.com/agentry-dev/agentry/generator/runtimes"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// What the operator v0.44.8 gives to its pods.
const (
	image          = "grafana/agent"
	defaultVersion = "v0.44.8"
	versionLabel   = "v0-44-8" // the version of the operator, whatever version the agent has
	lastMinor      = 44
	configKey      = "agent.yml"
)

// Name is the name of the runtime.
const Name = "agent"

// Runtime returns the Grafana Agent beside the config reloader of the Prometheus Operator.
func Runtime() runtimes.Runtime {
	return runtimes.Runtime{
		Name: Name, Check: Check, Print: printed,
		Masked:             Masked,
		SubstitutesSecrets: true,
		ListsIntegrations:  true,
		ConfigKey:          configKey, CompressAboveBytes: runtimes.DefaultCompressAboveBytes,
		VersionLabel: versionLabel, Container: runtimes.DefaultContainer, Port: runtimes.DefaultPort,
		GraceSeconds:  runtimes.DefaultGraceSeconds,
		ConfigVolumes: runtimes.ReloaderVolumes, Containers: containers, OwnMetrics: ownMetrics(),
		CheckPods: checkPods,
		FreeArgs:  freeArgs,
	}
}

// freeArgs are the arguments that may be others. Only integrations need the feature that is on.
func freeArgs(spec *v1alpha1.GrafanaAgentSpec) map[string]bool {
	out := map[string]bool{"watch-interval": true, "config.enable-read-api": true, "disable-reporting": true,
		"disable-support-bundle": true}
	if spec.Integrations.Selector == nil {
		out["enable-features"] = true
	}
	return out
}

// alloyImage matches an image of Grafana Alloy, in any registry.
var alloyImage = lazyregexp.New(`(^|/)alloy(:[^/]*|@[^/]*)?$`)

// checkPods warns of an image of the agent's successor, which has other flags and another configuration, and of
// versions that the agent does not have.
func checkPods(spec *v1alpha1.GrafanaAgentSpec) diag.List {
	named, path := spec.Version, "spec.version"
	if spec.Image != nil && *spec.Image != "" {
		path = "spec.image"
		if alloyImage.MatchString(*spec.Image) {
			return diag.List{{Severity: diag.Warning, Code: diag.RuntimeDiffers, Path: path,
				Message: "is an image of Grafana Alloy, and the pods are rendered for the Grafana Agent: they would " +
					"not start", Hint: setAlloy + ", or name an image of the agent"}}
		}
		named, _ = strings.CutPrefix(*spec.Image, image+":")
	}
	parts := release.FindStringSubmatch(named)
	switch {
	case parts == nil:
		return nil
	case parts[1] == "":
		return diag.List{{Severity: diag.Warning, Code: diag.InvalidSetting, Path: path,
			Message: "there is no image " + image + ":" + named + ": the tags of versions begin with v",
			Hint:    "write v" + named}}
	}
	if minor, _ := strconv.Atoi(parts[3]); parts[2] == "0" && minor <= lastMinor {
		return nil
	}
	return diag.List{{Severity: diag.Warning, Code: diag.InvalidSetting, Path: path,
		Message: "there is no Grafana Agent " + named + ": it ended with v0.44",
		Hint:    "write " + defaultVersion + ", or " + setAlloy}}
}

// setAlloy says how pods get the agent's successor.
const setAlloy = "set runtime: alloy in the pipeline (or --runtime alloy, or the annotation " + runtimes.Annotation +
	": alloy)"

// release matches a version of the agent, as the tag of its image has it.
var release = lazyregexp.New(`^(v?)(\d{1,3})\.(\d{1,3})\.\d{1,3}$`)

// ownMetrics are named in the packages static/config/instrumentation and static/metrics of the agent, and in promtail's
// client.
func ownMetrics() runtimes.OwnMetrics {
	return runtimes.OwnMetrics{
		Loaded: "agent_config_last_load_successful", Appended: "agent_wal_samples_appended_total",
		Series: "agent_wal_storage_active_series",
		WALFailures: []string{"agent_metrics_instance_abnormal_exits_total",
			"prometheus_wal_watcher_record_decode_failures_total", "prometheus_tsdb_wal_writes_failed_total"},
		SentEntries: "promtail_sent_entries_total", DroppedEntries: "promtail_dropped_entries_total",
	}
}

func containers(p runtimes.Pod) []corev1.Container {
	env := runtimes.Env(p)
	reload := append(append(slices.Clone(env), p.SecretEnv...), runtimes.ZoneEnv(p)...)
	return []corev1.Container{runtimes.Reloader(p, reload, configKey, runtimes.DefaultPort), process(p, env)}
}

// process returns the agent's container. It is privileged if it reads the logs of its node.
func process(p runtimes.Pod, env []corev1.EnvVar) corev1.Container {
	args := []string{
		"-config.file=" + podspec.ConfigDir + "/" + configKey,
		"-config.expand-env=true",
		"-server.http.address=0.0.0.0:" + strconv.Itoa(runtimes.DefaultPort),
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
	return corev1.Container{
		Name:  runtimes.DefaultContainer,
		Image: runtimes.Image(p.Spec.Image, image, p.Spec.Version, defaultVersion),
		Args:  args,
		Ports: []corev1.ContainerPort{{Name: p.PortName, ContainerPort: runtimes.DefaultPort,
			Protocol: corev1.ProtocolTCP}},
		Env:                      env,
		VolumeMounts:             p.Mounts,
		ReadinessProbe:           runtimes.Readiness(p.PortName),
		Resources:                p.Spec.Resources,
		SecurityContext:          &corev1.SecurityContext{Privileged: new(p.Kind == secretref.Logs)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}
