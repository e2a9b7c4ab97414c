package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/internal/podspec"
)

// claimPath returns the path of the field with the volume claim's name.
func claimPath(spec *v1alpha1.GrafanaAgentSpec) string {
	if s := spec.Storage; s != nil && s.VolumeClaimTemplate.Name != "" {
		return "spec.storage.volumeClaimTemplate.metadata.name"
	}
	return "metadata.name"
}

// volumePath returns the path of the field that the n-th volume with a name comes from.
func volumePath(spec *v1alpha1.GrafanaAgentSpec, name string, n int) string {
	var paths []string
	for i := range spec.Volumes {
		if spec.Volumes[i].Name == name {
			paths = append(paths, fmt.Sprintf("spec.volumes[%d].name", i))
		}
	}
	for i, s := range spec.Secrets {
		if podspec.ObjectVolume("secret-"+s) == name {
			paths = append(paths, fmt.Sprintf("spec.secrets[%d]", i))
		}
	}
	for i, s := range spec.ConfigMaps {
		if podspec.ObjectVolume("configmap-"+s) == name {
			paths = append(paths, fmt.Sprintf("spec.configMaps[%d]", i))
		}
	}
	switch {
	case len(paths) > 0:
		return paths[min(n, len(paths)-1)]
	case strings.HasSuffix(name, "-wal") && claimPath(spec) == "metadata.name":
		return "metadata.name"
	}
	return "spec.storage"
}

// containerPath returns the path of the first or last container with this name in the GrafanaAgent.
func containerPath(spec *v1alpha1.GrafanaAgentSpec, field, name string, last bool) string {
	list := spec.Containers
	if field == "spec.initContainers" {
		list = spec.InitContainers
	}
	path := field
	for i := range list {
		if list[i].Name == name {
			path = fmt.Sprintf("%s[%d]", field, i)
			if !last {
				break
			}
		}
	}
	return path
}

// mountPath returns the path of the field that a mount comes from; twice means that it is the second mount at its path.
func mountPath(spec *v1alpha1.GrafanaAgentSpec, container string, m corev1.VolumeMount, twice bool) string {
	at := ""
	for i := range spec.VolumeMounts {
		if spec.VolumeMounts[i].MountPath == m.MountPath && spec.VolumeMounts[i].Name == m.Name && (at == "" || twice) {
			at = fmt.Sprintf("spec.volumeMounts[%d]", i)
		}
	}
	if at == "" {
		return container
	}
	return at
}

// containerField returns the path in the GrafanaAgent of a field of a merged container. The agent's resources and port
// have fields of their own, and merging may have moved items in a list.
func (a grafanaAgent) containerField(path string, c *corev1.Container, field string) string {
	rest := strings.TrimPrefix(field, path)
	if c.Name == a.runtime().Container {
		if strings.HasPrefix(rest, ".resources") {
			return "spec" + rest
		}
		if p := c.ReadinessProbe; p != nil && p.HTTPGet != nil && p.HTTPGet.Port.StrVal == a.portName() &&
			rest == ".readinessProbe.httpGet.port" {
			return "spec.portName"
		}
	}
	var theirs corev1.Container
	for i := range a.spec.Containers {
		if path == fmt.Sprintf("spec.containers[%d]", i) {
			theirs = a.spec.Containers[i]
		}
	}
	for i, e := range c.Env {
		if inside, ok := strings.CutPrefix(rest, fmt.Sprintf(".env[%d]", i)); ok {
			if n := slices.IndexFunc(theirs.Env, func(t corev1.EnvVar) bool { return t.Name == e.Name }); n >= 0 {
				return fmt.Sprintf("%s.env[%d]%s", path, n, inside)
			}
		}
	}
	for i, p := range c.Ports {
		if inside, ok := strings.CutPrefix(rest, fmt.Sprintf(".ports[%d]", i)); ok {
			n := slices.IndexFunc(theirs.Ports, func(t corev1.ContainerPort) bool {
				return t.ContainerPort == p.ContainerPort && t.Name == p.Name
			})
			if n >= 0 {
				return fmt.Sprintf("%s.ports[%d]%s", path, n, inside)
			}
			if c.Name == a.runtime().Container && p.Name == a.portName() {
				return "spec.portName"
			}
		}
	}
	return field
}
