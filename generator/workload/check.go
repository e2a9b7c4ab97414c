package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/podspec"
)

// maxStatefulSetName leaves room for the hash that the controller appends to make the
// pods' controller-revision-hash label, which holds 63 characters.
const maxStatefulSetName = 52

// check reports what Kubernetes would refuse in an object. One refused object stops all
// of a Flux Kustomization, so nothing like it may be rendered.
func (b *builder) check(id manifest.ID, o any) {
	switch o := o.(type) {
	case *corev1.Service:
		for _, p := range validation.IsDNS1035Label(o.Name) {
			b.refuse("metadata.name", "Service %s: its name: %s", id.Name, p)
		}
		b.checkLabels(o.Labels)
	case *appsv1.StatefulSet:
		if len(o.Name) > maxStatefulSetName {
			b.refuse("metadata.name", "StatefulSet %s: its pods: the name is %d characters long, and with the hash of its revision a label may have %d", id.Name, len(o.Name), maxStatefulSetName)
		}
		var claims []string
		for i := range o.Spec.VolumeClaimTemplates {
			claims = append(claims, o.Spec.VolumeClaimTemplates[i].Name)
			b.checkClaim(&o.Spec.VolumeClaimTemplates[i])
		}
		b.checkTemplate(&o.ObjectMeta, &o.Spec.Template, claims)
	case *appsv1.DaemonSet:
		b.checkTemplate(&o.ObjectMeta, &o.Spec.Template, nil)
	case *appsv1.Deployment:
		b.checkTemplate(&o.ObjectMeta, &o.Spec.Template, nil)
	}
}

// checkTemplate checks a workload's metadata and its pods. Of DaemonSets and Deployments no
// hash is joined with the name in a label, as it is with that of StatefulSets.
func (b *builder) checkTemplate(meta *metav1.ObjectMeta, pods *corev1.PodTemplateSpec, claims []string) {
	for _, p := range validation.IsDNS1123Subdomain(meta.Name) {
		b.refuse("metadata.name", "the name %s: %s", meta.Name, p)
	}
	b.checkLabels(meta.Labels)
	b.checkLabels(pods.Labels)
	b.checkAnnotations(pods.Annotations)
	b.checkPod(&pods.Spec, claims)
}

// refuse reports a problem once for each field: what is wrong with a name is wrong in
// every label and in every shard.
func (b *builder) refuse(path, format string, args ...any) {
	b.once(path, "Kubernetes would refuse "+format, args...)
}

func (b *builder) once(path, format string, args ...any) {
	if !b.refused[path] {
		b.refused[path] = true
		b.fail(diag.InvalidObject, path, format, args...)
	}
}

func (b *builder) checkLabels(labels map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		v := labels[k]
		problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...)
		if len(problems) == 0 {
			continue
		}
		path := "metadata.name"
		if m := b.spec.PodMetadata; b.options.Labels[k] == v {
			path = "" // of agentry's own settings
		} else if m != nil && m.Labels[k] == v {
			path = "spec.podMetadata.labels[" + k + "]"
		}
		b.refuse(path, "the label %s=%s: %s", k, v, strings.Join(problems, "; "))
	}
}

func (b *builder) checkAnnotations(annotations map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		for _, p := range validation.IsQualifiedName(strings.ToLower(k)) {
			b.refuse("spec.podMetadata.annotations["+k+"]", "the annotation %s: %s", k, p)
		}
	}
}

func (b *builder) checkPod(pod *corev1.PodSpec, claims []string) {
	known := map[string]bool{}
	for _, name := range claims {
		for _, p := range validation.IsDNS1123Label(name) {
			b.refuse(b.claimPath(), "the name of the volume claim, %q: %s", name, p)
		}
		known[name] = true
	}
	b.checkReferences()
	seen := map[string]int{}
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		path := b.volumePath(v.Name, seen[v.Name])
		for _, p := range validation.IsDNS1123Label(v.Name) {
			b.refuse(path, "the volume name %q: %s", v.Name, p)
		}
		switch {
		case seen[v.Name] > 0:
			b.refuse(path, "two volumes named %q", v.Name)
		case slices.Contains(claims, v.Name):
			b.once(b.claimPath(), "the volume claim would take the place of the pod's volume %q", v.Name)
		default:
			if problem := podspec.VolumeProblem(v); problem != "" {
				if s := b.spec.Storage; s != nil && s.Ephemeral != nil && s.Ephemeral == v.Ephemeral {
					path = "spec.storage.ephemeral"
				}
				b.refuse(path, "the volume %q: %s", v.Name, problem)
			}
		}
		seen[v.Name]++
		known[v.Name] = true
	}
	names := map[string]bool{}
	for n, list := range [...][]corev1.Container{pod.InitContainers, pod.Containers} {
		field := [...]string{"spec.initContainers", "spec.containers"}[n]
		for i := range list {
			path := b.containerPath(field, list[i].Name, names[list[i].Name])
			if names[list[i].Name] {
				b.refuse(path, "two containers named %q", list[i].Name)
			}
			names[list[i].Name] = true
			b.checkContainer(path, &list[i], known)
		}
	}
}

// checkClaim checks a claim template. That it has no size is told where it is made.
func (b *builder) checkClaim(c *corev1.PersistentVolumeClaim) {
	if field, problem := podspec.ClaimProblem(&c.Spec); problem != "" && !c.Spec.Resources.Requests.Storage().IsZero() {
		b.refuse("spec.storage.volumeClaimTemplate.spec."+field, "the volume claim: %s", problem)
	}
}

// checkReferences checks the objects that the pods are to mount: Kubernetes takes any name
// but none.
func (b *builder) checkReferences() {
	for field, list := range map[string][]string{"spec.secrets": b.spec.Secrets, "spec.configMaps": b.spec.ConfigMaps} {
		for i, name := range list {
			if name == "" {
				b.refuse(fmt.Sprintf("%s[%d]", field, i), "a volume of an object without a name")
			}
		}
	}
}

func (b *builder) claimPath() string {
	if s := b.spec.Storage; s != nil && s.VolumeClaimTemplate.Name != "" {
		return "spec.storage.volumeClaimTemplate.metadata.name"
	}
	return "metadata.name"
}

// volumePath finds the field that a volume comes from: the n-th of its name.
func (b *builder) volumePath(name string, n int) string {
	var paths []string
	for i := range b.spec.Volumes {
		if b.spec.Volumes[i].Name == name {
			paths = append(paths, fmt.Sprintf("spec.volumes[%d].name", i))
		}
	}
	for i, s := range b.spec.Secrets {
		if podspec.ObjectVolume("secret-"+s) == name {
			paths = append(paths, fmt.Sprintf("spec.secrets[%d]", i))
		}
	}
	for i, s := range b.spec.ConfigMaps {
		if podspec.ObjectVolume("configmap-"+s) == name {
			paths = append(paths, fmt.Sprintf("spec.configMaps[%d]", i))
		}
	}
	switch {
	case len(paths) > 0:
		return paths[min(n, len(paths)-1)]
	case strings.HasSuffix(name, "-wal") && b.claimPath() == "metadata.name":
		return "metadata.name"
	}
	return "spec.storage"
}

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

func (b *builder) checkContainer(path string, c *corev1.Container, volumes map[string]bool) {
	for _, p := range validation.IsDNS1123Label(c.Name) {
		b.refuse(path, "the container name %q: %s", c.Name, p)
	}
	if strings.TrimSpace(c.Image) == "" {
		b.refuse(path, "container %s: it has no image", c.Name)
	}
	b.checkPorts(path, c)
	paths := map[string]bool{}
	privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	for _, m := range c.VolumeMounts {
		at := b.mountPath(path, m, paths[m.MountPath])
		problem := podspec.MountProblem(&m, privileged)
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
	for _, e := range c.Env {
		for _, p := range validation.IsEnvVarName(e.Name) {
			b.refuse(path, "the environment variable %q of container %s: %s", e.Name, c.Name, p)
		}
		if from := e.ValueFrom; from != nil && e.Value != "" {
			b.refuse(path, "the environment variable %q of container %s: it has a value and a valueFrom", e.Name, c.Name)
		}
	}
	for name, wanted := range c.Resources.Requests {
		if limit, ok := c.Resources.Limits[name]; ok && wanted.Cmp(limit) > 0 {
			at := path
			if c.Name == agentContainer {
				at = "spec.resources"
			}
			b.refuse(at, "container %s: it requests more %s than its limit", c.Name, name)
		}
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

func (b *builder) checkPorts(path string, c *corev1.Container) {
	names := map[string]bool{}
	for _, port := range c.Ports {
		at := path
		if c.Name == agentContainer && port.Name == b.spec.PortName {
			at = "spec.portName"
		}
		if port.Name != "" {
			for _, p := range validation.IsValidPortName(port.Name) {
				b.refuse(at, "the port name %q: %s", port.Name, p)
			}
			if names[port.Name] {
				b.refuse(at, "two ports named %q", port.Name)
			}
			names[port.Name] = true
		}
		for _, p := range validation.IsValidPortNum(int(port.ContainerPort)) {
			b.refuse(at, "port %d of container %s: %s", port.ContainerPort, c.Name, p)
		}
	}
}
