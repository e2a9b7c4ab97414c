package workload

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/internal/podrules"
)

// checkContainer checks a container at path, with the volumes and claims of its pod.
func (c *checker) checkContainer(path string, container *corev1.Container, initial bool,
	volumes, claims map[string]bool) {
	for _, p := range validation.IsDNS1123Label(container.Name) {
		c.refuse(path, "the container name %q: %s", container.Name, p)
	}
	if strings.TrimSpace(container.Image) == "" {
		c.refuse(path, "container %s: it has no image", container.Name)
	}
	context := podrules.PodContext{Claims: claims, Grace: c.runtime().GraceSeconds}
	of := func(f string) string { return c.containerField(path, container, f) }
	c.refuseAll(podrules.Container(container, initial, context, field.NewPath(path)), of)
	for _, d := range podrules.ContainerWarnings(container, field.NewPath(path)) {
		c.warn(of(d.Field), d.Detail)
	}
	paths := map[string]bool{}
	privileged := container.SecurityContext != nil && container.SecurityContext.Privileged != nil &&
		*container.SecurityContext.Privileged
	for _, m := range container.VolumeMounts {
		at := mountPath(c.spec, path, m, paths[m.MountPath])
		problem := podrules.Mount(&m, privileged)
		switch {
		case !volumes[m.Name]:
			c.refuse(at, "a mount of a volume %q that the pod does not have", m.Name)
		case problem != "":
			c.refuse(at, "%s", problem)
		case paths[m.MountPath]:
			c.refuse(at, "two mounts at %s", m.MountPath)
		}
		paths[m.MountPath] = true
	}
}

// checkUser refuses a container that must not run as root but has the user 0: the kubelet does not start it. A
// container's settings take precedence over its pod's.
func (c *checker) checkUser(path string, container *corev1.Container, pod *corev1.PodSecurityContext) {
	var nonRoot *bool
	var user *int64
	at := path + ".securityContext"
	own := container.SecurityContext
	if own != nil {
		nonRoot, user = own.RunAsNonRoot, own.RunAsUser
	}
	if nonRoot == nil && user == nil {
		at = "spec.securityContext"
	}
	if pod != nil {
		nonRoot, user = cmp.Or(nonRoot, pod.RunAsNonRoot), cmp.Or(user, pod.RunAsUser)
	}
	if nonRoot != nil && *nonRoot && user != nil && *user == 0 && !c.refused[at] {
		c.refuse(at, "to start container %s: runAsNonRoot is true, and runAsUser is 0, which is root", container.Name)
		c.found[len(c.found)-1].Hint = "set another runAsUser, or runAsNonRoot: false"
	}
}

// checkPorts refuses containers that need the same port of the node, and warns about containers with the same port of
// the pod. It does not refuse an init container, which does not run together with the others; Kubernetes warns about
// it all the same.
func (c *checker) checkPorts(path string, container *corev1.Container, initial bool, taken map[string]bool) {
	for i, p := range container.Ports {
		at := field.NewPath(path).Child("ports").Index(i)
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		if p.HostPort != 0 && !initial {
			key := fmt.Sprintf("%s/%s/%d", protocol, p.HostIP, p.HostPort)
			if taken[key] {
				c.refuse(at.Child("hostPort").String(), "two ports at %s of the node", key)
			}
			taken[key] = true
		}
		if p.HostIP != "" && p.HostPort == 0 {
			c.warn(c.containerField(path, container, at.Child("hostIP").String()), "has no effect without a hostPort")
		}
		for _, key := range []string{fmt.Sprintf("%s/%d", protocol, p.ContainerPort), p.Name} {
			if taken[key] {
				c.warn(c.containerField(path, container, at.String()), "another container has the port "+key)
			}
			taken[key] = key != "" // the name of a port is optional
		}
	}
}
