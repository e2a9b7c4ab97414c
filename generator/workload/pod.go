package workload

import (
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/podspec"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// podOptions are what distinguishes one workload's pods from another's.
type podOptions struct {
	pods         secretref.Group
	configSecret string
	privileged   bool
	env          []corev1.EnvVar
	volumes      []corev1.Volume
	mounts       []corev1.VolumeMount
}

// mounted is a volume with its mount; a volume without a source comes from a claim
// template and is only mounted.
type mounted struct {
	volume corev1.Volume
	mount  corev1.VolumeMount
}

func (p *podOptions) add(m mounted) {
	if m.volume.Name != "" {
		p.volumes = append(p.volumes, m.volume)
	}
	p.mounts = append(p.mounts, m.mount)
}

// podSpec returns a pod with the config reloader and the agent.
func (b *builder) podSpec(o podOptions) corev1.PodSpec {
	volumes, mounts := b.volumes(o)
	env := append([]corev1.EnvVar{fromField("POD_NAME", "metadata.name"), constant("AGENT_DEPLOY_MODE", "operator")}, o.env...)
	grace := int64(gracePeriod)
	containers := []corev1.Container{
		b.reloader(append(slices.Clone(env), b.config.Secrets.Env(o.pods)...), mounts),
		b.agentProcess(env, mounts, o.privileged),
	}
	s := b.spec
	return corev1.PodSpec{
		Containers:                    b.mergeContainers(containers),
		InitContainers:                s.InitContainers,
		Volumes:                       volumes,
		TerminationGracePeriodSeconds: &grace,
		ImagePullSecrets:              s.ImagePullSecrets,
		NodeSelector:                  s.NodeSelector,
		ServiceAccountName:            s.ServiceAccountName,
		Affinity:                      s.Affinity,
		Tolerations:                   s.Tolerations,
		TopologySpreadConstraints:     s.TopologySpreadConstraints,
		SecurityContext:               s.SecurityContext,
		PriorityClassName:             s.PriorityClassName,
		RuntimeClassName:              s.RuntimeClassName,
	}
}

// reloader is the container that watches the mounted configuration, replaces $(NAME) by
// environment variables and tells the agent to reload.
func (b *builder) reloader(env []corev1.EnvVar, mounts []corev1.VolumeMount) corev1.Container {
	no, yes := false, true
	return corev1.Container{
		Name:  reloaderContainer,
		Image: image(b.spec.ConfigReloaderImage, reloaderImage, b.spec.ConfigReloaderVersion, defaultReloader),
		Args: []string{
			"--config-file=/var/lib/grafana-agent/config-in/agent.yml",
			"--config-envsubst-file=/var/lib/grafana-agent/config/agent.yml",
			"--watch-interval=1m",
			"--statefulset-ordinal-from-envvar=POD_NAME",
			"--reload-url=http://127.0.0.1:" + strconv.Itoa(agentPort) + "/-/reload",
		},
		Env:          env,
		VolumeMounts: mounts,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no,
			ReadOnlyRootFilesystem:   &yes,
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

func (b *builder) agentProcess(env []corev1.EnvVar, mounts []corev1.VolumeMount, privileged bool) corev1.Container {
	args := []string{
		"-config.file=/var/lib/grafana-agent/config/agent.yml",
		"-config.expand-env=true",
		"-server.http.address=0.0.0.0:" + strconv.Itoa(agentPort),
		"-enable-features=integrations-next",
	}
	for _, f := range [...]struct {
		on   bool
		flag string
	}{
		{b.spec.EnableConfigReadAPI, "-config.enable-read-api"},
		{b.spec.DisableReporting, "-disable-reporting"},
		{b.spec.DisableSupportBundle, "-disable-support-bundle"},
	} {
		if f.on {
			args = append(args, f.flag)
		}
	}
	return corev1.Container{
		Name:         agentContainer,
		Image:        image(b.spec.Image, agentImage, b.spec.Version, defaultVersion),
		Args:         args,
		Ports:        []corev1.ContainerPort{{Name: b.portName(), ContainerPort: agentPort, Protocol: corev1.ProtocolTCP}},
		Env:          env,
		VolumeMounts: mounts,
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
				Path: "/-/ready", Port: intstr.FromString(b.portName()),
			}},
			TimeoutSeconds: 3, PeriodSeconds: 5, FailureThreshold: 120,
		},
		Resources:                b.spec.Resources,
		SecurityContext:          &corev1.SecurityContext{Privileged: &privileged},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// image returns the full image if it is set, else the repository with the version.
func image(full *string, repository, version, defaultVersion string) string {
	if full != nil && *full != "" {
		return *full
	}
	if version == "" {
		version = defaultVersion
	}
	return repository + ":" + version
}

// volumes returns the volumes of a pod and the mounts of both containers, in the
// operator's order.
func (b *builder) volumes(o podOptions) ([]corev1.Volume, []corev1.VolumeMount) {
	p := podOptions{}
	p.add(mounted{
		corev1.Volume{Name: configVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: o.configSecret}}},
		corev1.VolumeMount{Name: configVolume, ReadOnly: true, MountPath: podspec.ConfigInDir},
	})
	p.add(mounted{
		corev1.Volume{Name: "config-out", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.VolumeMount{Name: "config-out", MountPath: podspec.ConfigDir},
	})
	if source, ok := b.secretsSource(o.pods); ok {
		p.add(mounted{
			corev1.Volume{Name: secretsVolume, VolumeSource: source},
			corev1.VolumeMount{Name: secretsVolume, ReadOnly: true, MountPath: secretref.Dir},
		})
	}
	p.volumes, p.mounts = append(p.volumes, o.volumes...), append(p.mounts, o.mounts...)
	p.volumes, p.mounts = append(p.volumes, b.spec.Volumes...), append(p.mounts, b.spec.VolumeMounts...)
	for _, name := range b.spec.Secrets {
		volume := podspec.ObjectVolume("secret-" + name)
		p.add(mounted{
			corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}},
			corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: podspec.ExtraSecretsDir + name},
		})
	}
	for _, name := range b.spec.ConfigMaps {
		volume := podspec.ObjectVolume("configmap-" + name)
		object := corev1.LocalObjectReference{Name: name}
		p.add(mounted{
			corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: object}}},
			corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: podspec.ExtraConfigMapsDir + name},
		})
	}
	return p.volumes, p.mounts
}

// secretsSource is where the files of references come from: the shared Secret, or the
// cluster's own objects. There is none when nothing is referred to.
func (b *builder) secretsSource(pods secretref.Group) (corev1.VolumeSource, bool) {
	if b.options.Policy == secretref.Plaintext {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: b.agent.Name + "-secrets"}}, true
	}
	sources := b.config.Secrets.Projections(pods)
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}, len(sources) > 0
}

// storage returns the volume of the write-ahead log of a StatefulSet.
func (b *builder) storage(set string) (mounted, []corev1.PersistentVolumeClaim) {
	wal := mounted{mount: corev1.VolumeMount{Name: set + "-wal", MountPath: podspec.DataDir}}
	s := b.spec.Storage
	if s != nil && s.VolumeClaimTemplate.Name != "" {
		wal.mount.Name = s.VolumeClaimTemplate.Name
	}
	switch {
	case s == nil:
		wal.volume = corev1.Volume{Name: wal.mount.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	case s.EmptyDir != nil:
		wal.volume = corev1.Volume{Name: wal.mount.Name, VolumeSource: corev1.VolumeSource{EmptyDir: s.EmptyDir}}
	case s.Ephemeral != nil:
		wal.volume = corev1.Volume{Name: wal.mount.Name, VolumeSource: corev1.VolumeSource{Ephemeral: s.Ephemeral}}
	default:
		return wal, []corev1.PersistentVolumeClaim{b.claim(wal.mount.Name)}
	}
	return wal, nil
}

// claim returns the claim template of spec.storage. A status that somebody exported
// along is dropped.
func (b *builder) claim(name string) corev1.PersistentVolumeClaim {
	t := &b.spec.Storage.VolumeClaimTemplate
	out := corev1.PersistentVolumeClaim{TypeMeta: t.TypeMeta, Spec: t.Spec}
	out.Name, out.Labels, out.Annotations = name, t.Labels, t.Annotations
	if len(out.Spec.AccessModes) == 0 {
		out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	if out.Spec.Resources.Requests.Storage().IsZero() {
		b.fail(diag.InvalidObject, "spec.storage", "needs emptyDir, ephemeral, or a volumeClaimTemplate with spec.resources.requests.storage")
	}
	return out
}

// mergeContainers merges spec.containers into the generated containers by name, with
// Kubernetes' strategic merge, and appends the others. Of several patches of one name the
// last counts.
func (b *builder) mergeContainers(generated []corev1.Container) []corev1.Container {
	patches := map[string]int{}
	for i := range b.spec.Containers {
		patches[b.spec.Containers[i].Name] = i
	}
	out := make([]corev1.Container, 0, len(generated)+len(patches))
	for _, c := range generated {
		if i, ok := patches[c.Name]; ok {
			merged, err := mergeContainer(c, b.spec.Containers[i])
			if err != nil {
				b.fail(diag.InvalidContainer, "spec.containers["+strconv.Itoa(i)+"]", "cannot be merged into container %s: %v", c.Name, err)
			}
			c = merged
		}
		out = append(out, c)
	}
	for i := range b.spec.Containers {
		if c := b.spec.Containers[i]; c.Name != reloaderContainer && c.Name != agentContainer {
			out = append(out, c)
		}
	}
	return out
}

func mergeContainer(c, patch corev1.Container) (corev1.Container, error) {
	original, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return c, err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, change, corev1.Container{})
	if err != nil {
		return c, err
	}
	var out corev1.Container
	return out, json.Unmarshal(merged, &out)
}
