package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/podrules"
)

// containerPath finds a container in the GrafanaAgent: the last of its name, or the first
// when it is not the last that is meant.
func (b *builder) containerPath(field, name string, last bool) string {
	list := b.spec.Containers
	if field == "spec.initContainers" {
		list = b.spec.InitContainers
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

func (b *builder) checkContainer(path string, c *corev1.Container, initial bool, volumes, claims map[string]bool) {
	for _, p := range validation.IsDNS1123Label(c.Name) {
		b.refuse(path, "the container name %q: %s", c.Name, p)
	}
	if strings.TrimSpace(c.Image) == "" {
		b.refuse(path, "container %s: it has no image", c.Name)
	}
	context := podrules.PodContext{Claims: claims, Grace: gracePeriod}
	of := func(f string) string { return b.containerField(path, c, f) }
	b.refuseAll(podrules.Container(c, initial, context, field.NewPath(path)), of)
	for _, d := range podrules.ContainerWarnings(c, field.NewPath(path)) {
		b.doubt(of(d.Field), d.Detail)
	}
	paths := map[string]bool{}
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	for _, m := range c.VolumeMounts {
		at := b.mountPath(path, m, paths[m.MountPath])
		problem := podrules.Mount(&m, privileged)
		switch {
		case !volumes[m.Name]:
			b.refuse(at, "a mount of a volume %q that the pod does not have", m.Name)
		case problem != "":
			b.refuse(at, "%s", problem)
		case paths[m.MountPath]:
			b.refuse(at, "two mounts at %s", m.MountPath)
		}
		paths[m.MountPath] = true
	}
}

// mountPath finds the field that a mount comes from; twice tells that it is the second at
// its path.
func (b *builder) mountPath(container string, m corev1.VolumeMount, twice bool) string {
	at := ""
	for i := range b.spec.VolumeMounts {
		if b.spec.VolumeMounts[i].MountPath == m.MountPath && b.spec.VolumeMounts[i].Name == m.Name && (at == "" || twice) {
			at = fmt.Sprintf("spec.volumeMounts[%d]", i)
		}
	}
	if at == "" {
		return container
	}
	return at
}

// containerField is the field of a GrafanaAgent that one of a merged container comes from: the
// agent's own resources and port have theirs, and lists may have grown in front.
func (b *builder) containerField(path string, c *corev1.Container, field string) string {
	rest := strings.TrimPrefix(field, path)
	if c.Name == agentContainer {
		if strings.HasPrefix(rest, ".resources") {
			return "spec" + rest
		}
		if p := c.ReadinessProbe; p != nil && p.HTTPGet != nil && p.HTTPGet.Port.StrVal == b.portName() && rest == ".readinessProbe.httpGet.port" {
			return "spec.portName"
		}
	}
	var theirs corev1.Container
	for i := range b.spec.Containers {
		if path == fmt.Sprintf("spec.containers[%d]", i) {
			theirs = b.spec.Containers[i]
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
			n := slices.IndexFunc(theirs.Ports, func(t corev1.ContainerPort) bool { return t.ContainerPort == p.ContainerPort && t.Name == p.Name })
			if n >= 0 {
				return fmt.Sprintf("%s.ports[%d]%s", path, n, inside)
			}
			if c.Name == agentContainer && p.Name == b.portName() {
				return "spec.portName"
			}
		}
	}
	return field
}

// checkPorts checks that no two containers that run together want one port of the node, and doubts
// that they can have one of the pod. An init container does not run together with the others, but
// Kubernetes warns of it all the same.
func (b *builder) checkPorts(path string, c *corev1.Container, initial bool, taken map[string]bool) {
	for i, p := range c.Ports {
		at := field.NewPath(path).Child("ports").Index(i)
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if p.HostPort != 0 && !initial {
			key := fmt.Sprintf("%s/%s/%d", protocol, p.HostIP, p.HostPort)
			if taken[key] {
				b.refuse(at.Child("hostPort").String(), "two ports at %s of the node", key)
			}
			taken[key] = true
		}
		if p.HostIP != "" && p.HostPort == 0 {
			b.doubt(b.containerField(path, c, at.Child("hostIP").String()), "does nothing without a hostPort")
		}
		for _, key := range []string{fmt.Sprintf("%s/%d", protocol, p.ContainerPort), p.Name} {
			if taken[key] {
				b.doubt(b.containerField(path, c, at.String()), "another container has the port "+key)
			}
			taken[key] = key != "" // A port need not have a name.
		}
	}
}
