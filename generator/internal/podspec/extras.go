package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/podrules"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Folders that every pod mounts.
const (
	ConfigInDir = "/var/lib/grafana-agent/config-in"
	ConfigDir   = "/var/lib/grafana-agent/config"
	DataDir     = "/var/lib/grafana-agent/data"
)

// The folders for the files named in spec.secrets and spec.configMaps of a GrafanaAgent.
const (
	ExtraSecretsDir    = "/var/lib/grafana-agent/extra-secrets/"
	ExtraConfigMapsDir = "/var/lib/grafana-agent/extra-configmaps/"
)

// Extras are the volumes and mounts of an integrations pod that neither every pod has nor the GrafanaAgent defines. In
// the pod they stand between these two.
type Extras struct {
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
	// Diags are about the integrations. An integration with an error must be left out.
	Diags diag.List
}

// Name returns the name of an integrations workload.
func Name(agent string, pods secretref.Group) string {
	if pods == secretref.DaemonSet {
		return agent + "-integrations-ds"
	}
	return agent + "-integrations-deploy"
}

// Integrations returns the volumes and mounts that the pods of a group (secretref.Deployment or secretref.DaemonSet)
// need for the Integrations and MetricsIntegrations that run in them. [secretref.Scope.Mount] must have been called for
// each of these.
//
// If two integrations mount different volumes at one path, the first wins, as with the operator. A MetricsIntegration
// among them gets an error.
func Integrations(agent *manifest.Object, pods secretref.Group, members []*manifest.Object,
	secrets *secretref.Resolver) Extras {
	m := &merger{agent: agent, spec: &manifest.As[v1alpha1.GrafanaAgent](agent).Spec, names: map[string]bool{},
		mounts: map[string]*mount{}}
	wal := corev1.Volume{Name: Label(Name(agent.Name, pods) + "-wal"),
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	m.reserve(wal.Name)
	for _, o := range members {
		m.add(o)
	}
	for _, v := range secrets.Volumes(pods, agent.Name) {
		m.addFiles(v)
	}
	m.addOwn(wal, DataDir, false)
	for _, v := range HostLogs() {
		m.addOwn(v, v.HostPath.Path, true)
	}
	return m.out
}

// HostLogs returns the volumes of the node's logs. Each is mounted read-only at its own path.
func HostLogs() []corev1.Volume {
	host := func(name, path string) corev1.Volume {
		return corev1.Volume{Name: name,
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}}}
	}
	return []corev1.Volume{host("varlog", "/var/log"), host("dockerlogs", "/var/lib/docker/containers")}
}

// mount is a mount of an integration and the volume that it mounts.
type mount struct {
	corev1.VolumeMount
	owner  *manifest.Object
	path   string // the path of the mount's field in its owner
	volume *corev1.Volume
}

// merger builds Extras. It remembers which volume names are taken, and which mount is at each path.
type merger struct {
	agent  *manifest.Object
	spec   *v1alpha1.GrafanaAgentSpec
	names  map[string]bool
	mounts map[string]*mount
	out    Extras
}

// reserve marks the volume names that every pod uses as taken.
func (m *merger) reserve(wal string) {
	for _, name := range []string{"config", "config-out", "secrets", wal} {
		m.names[name] = true
	}
	for _, v := range HostLogs() {
		m.names[v.Name] = true
	}
	for i := range m.spec.Volumes {
		m.names[m.spec.Volumes[i].Name] = true
	}
	for _, name := range m.spec.Secrets {
		m.names[ObjectVolume("secret-"+name)] = true
	}
	for _, name := range m.spec.ConfigMaps {
		m.names[ObjectVolume("configmap-"+name)] = true
	}
}

// name reserves a volume name. If it is taken or invalid, it returns a different name, which depends on identity.
func (m *merger) name(wanted, identity string) string {
	name := Label(wanted)
	for m.names[name] {
		identity += "'"
		name = hashed(wanted, identity)
	}
	m.names[name] = true
	return name
}

// addOwn adds one of the operator's own volumes, unless an integration has a mount at its path.
func (m *merger) addOwn(v corev1.Volume, path string, readOnly bool) {
	if m.mounts[path] != nil {
		return
	}
	m.out.Volumes = append(m.out.Volumes, v)
	m.out.Mounts = append(m.out.Mounts, corev1.VolumeMount{Name: v.Name, ReadOnly: readOnly, MountPath: path})
}

func (m *merger) report(o *manifest.Object, severity diag.Severity, code diag.Code, path, format string, args ...any) {
	m.out.Diags = append(m.out.Diags, o.Place(code.At(path, format, args...).As(severity)))
}

// relate adds an object to Related of the last diagnostic.
func (m *merger) relate(o *manifest.Object) {
	if last := &m.out.Diags[len(m.out.Diags)-1]; last.Object != o.Ref() {
		last.Related = append(last.Related, o.Ref())
	}
}

func (m *merger) refuse(o *manifest.Object, path, format string, args ...any) {
	m.report(o, diag.Error, diag.InvalidObject, path, "Kubernetes would refuse "+format, args...)
}

// add adds the volumes and mounts of an integration.
func (m *merger) add(o *manifest.Object) {
	volumes, mounts := lists(o)
	prefix := o.Namespace + "-" + o.Name + "-"
	own := map[string]*corev1.Volume{}
	var order []*corev1.Volume
	for i := range volumes {
		path := fmt.Sprintf("spec.volumes[%d]", i)
		v := volumes[i].DeepCopy()
		if problem := podrules.Volume(v); problem != "" {
			m.refuse(o, path, "the volume %q: %s", v.Name, problem)
		} else if problem := podrules.VolumeWarning(v); problem != "" {
			m.report(o, diag.Warning, diag.PodWarning, path, "the volume %q: %s", v.Name, problem)
		}
		switch {
		case v.Name == "":
			m.refuse(o, path, "a volume without a name")
		case own[v.Name] != nil:
			m.report(o, diag.Warning, diag.MountConflict, path+".name",
				"the volume is left out: there is another one named %q", v.Name)
		default:
			own[v.Name] = v
			order = append(order, v)
			v.Name = m.name(prefix+v.Name, o.ID.String()+"/"+v.Name)
		}
	}
	kept, dropped := map[string]bool{}, map[string]bool{}
	for i := range mounts {
		entry := &mount{VolumeMount: mounts[i], owner: o, path: fmt.Sprintf("spec.volumeMounts[%d]", i),
			volume: own[mounts[i].Name]}
		if !m.resolve(entry, prefix) {
			continue
		}
		if m.place(entry) {
			kept[entry.Name] = true
		} else {
			dropped[entry.Name] = true
		}
	}
	for _, v := range order {
		if kept[v.Name] || !dropped[v.Name] {
			m.out.Volumes = append(m.out.Volumes, *v)
		}
	}
}

func lists(o *manifest.Object) ([]corev1.Volume, []corev1.VolumeMount) {
	switch v := o.Value().(type) {
	case *v1alpha1.Integration:
		return v.Spec.Volumes, v.Spec.VolumeMounts
	case *v1alpha1.MetricsIntegration:
		return v.Spec.Volumes, v.Spec.VolumeMounts
	}
	return nil, nil
}

// resolve replaces the volume name of a mount by the final one, and reports what Kubernetes would refuse.
func (m *merger) resolve(e *mount, prefix string) bool {
	problem := podrules.Mount(&e.VolumeMount, false)
	agents := slices.ContainsFunc(m.spec.Volumes, func(v corev1.Volume) bool { return v.Name == prefix+e.Name })
	switch {
	case problem != "":
		m.refuse(e.owner, e.path, "%s", problem)
		return false
	case e.volume != nil:
		e.Name = e.volume.Name
	case agents:
		e.Name = prefix + e.Name
	default:
		m.refuse(e.owner, e.path, "a mount of a volume %q that the %s does not have", e.Name, e.owner.Kind)
		m.relate(m.agent) // the GrafanaAgent may have such a volume
		return false
	}
	if other := m.reserved(e.MountPath); other != "" {
		m.refuse(e.owner, e.path, "two mounts at %s: %s", e.MountPath, other)
		m.relate(m.agent)
		return false
	}
	return true
}

// reserved describes the other mount at a path, or returns "" if the path is free.
func (m *merger) reserved(path string) string {
	for _, dir := range []string{ConfigInDir, ConfigDir, secretref.Dir} {
		if absolute(path) == dir {
			return "the agent mounts one there itself"
		}
	}
	for i := range m.spec.VolumeMounts {
		if m.spec.VolumeMounts[i].MountPath == path {
			return fmt.Sprintf("spec.volumeMounts[%d] of the GrafanaAgent is there too", i)
		}
	}
	for _, name := range m.spec.Secrets {
		if path == ExtraSecretsDir+name {
			return "spec.secrets of the GrafanaAgent is mounted there too"
		}
	}
	for _, name := range m.spec.ConfigMaps {
		if path == ExtraConfigMapsDir+name {
			return "spec.configMaps of the GrafanaAgent is mounted there too"
		}
	}
	return ""
}

// MayHaveFile reports whether the pods could have a file at a path. A volume without a list of items can hold any file.
func (e Extras) MayHaveFile(path string) bool {
	sources := map[string]*corev1.VolumeSource{}
	for i := range e.Volumes {
		sources[e.Volumes[i].Name] = &e.Volumes[i].VolumeSource
	}
	return slices.ContainsFunc(e.Mounts, func(m corev1.VolumeMount) bool {
		if !below(path, m.MountPath) {
			return false
		}
		rest := strings.Trim(strings.TrimPrefix(absolute(path), absolute(m.MountPath)), "/")
		list := items(sources[m.Name])
		return m.SubPath != "" || m.SubPathExpr != "" || len(list) == 0 || rest == "" ||
			slices.ContainsFunc(list, func(i corev1.KeyToPath) bool {
				return i.Path == rest || below("/"+i.Path, "/"+rest)
			})
	})
}
