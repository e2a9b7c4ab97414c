package workload

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/agentry-dev/agentry/generator/agentyaml"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// maxStatefulSetName leaves room for the hash that the controller appends to make the
// pods' controller-revision-hash label, which holds 63 characters.
const maxStatefulSetName = 52

// check reports what Kubernetes would refuse in an object. One refused object stops all
// of a Flux Kustomization, so nothing like it may be rendered.
func (b *builder) check(id manifest.ID, o any) {
	refuse := func(path, format string, args ...any) {
		b.fail(diag.InvalidObject, path, "Kubernetes would refuse %s %s: %s", id.Kind, id.Name, fmt.Sprintf(format, args...))
	}
	switch o := o.(type) {
	case *corev1.Service:
		for _, p := range validation.IsDNS1035Label(o.Name) {
			refuse("metadata.name", "its name: %s", p)
		}
		b.checkLabels(refuse, o.Labels)
	case *appsv1.StatefulSet:
		if len(o.Name) > maxStatefulSetName {
			refuse("metadata.name", "its pods: the name is %d characters long, and with the hash of its revision a label may have %d", len(o.Name), maxStatefulSetName)
		}
		b.checkLabels(refuse, o.Labels)
		b.checkLabels(refuse, o.Spec.Template.Labels)
		var claims []string
		for i := range o.Spec.VolumeClaimTemplates {
			claims = append(claims, o.Spec.VolumeClaimTemplates[i].Name)
		}
		b.checkPod(refuse, &o.Spec.Template.Spec, claims)
	}
}

type refuseFunc func(path, format string, args ...any)

func (b *builder) checkLabels(refuse refuseFunc, labels map[string]string) {
	for k, v := range labels {
		if problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...); len(problems) > 0 {
			refuse("metadata.name", "the label %s=%s: %s", k, v, strings.Join(problems, "; "))
		}
	}
}

func (b *builder) checkPod(refuse refuseFunc, pod *corev1.PodSpec, claims []string) {
	known := map[string]bool{}
	for _, name := range claims {
		known[name] = true
	}
	volumes := map[string]bool{}
	for i := range pod.Volumes {
		name := pod.Volumes[i].Name
		for _, p := range validation.IsDNS1123Label(name) {
			refuse(b.volumePath(name), "the volume name %q: %s", name, p)
		}
		if volumes[name] {
			refuse(b.volumePath(name), "two volumes are named %q", name)
		}
		volumes[name], known[name] = true, true
	}
	names := map[string]bool{}
	for _, list := range [...][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			if names[list[i].Name] {
				refuse("spec.containers", "two containers are named %q", list[i].Name)
			}
			names[list[i].Name] = true
			b.checkContainer(refuse, &list[i], known)
		}
	}
}

// volumePath finds the field that a volume's name comes from.
func (b *builder) volumePath(name string) string {
	for i := range b.spec.Volumes {
		if b.spec.Volumes[i].Name == name {
			return fmt.Sprintf("spec.volumes[%d].name", i)
		}
	}
	for i, s := range b.spec.Secrets {
		if volumeName("secret-"+s) == name {
			return fmt.Sprintf("spec.secrets[%d]", i)
		}
	}
	for i, s := range b.spec.ConfigMaps {
		if volumeName("configmap-"+s) == name {
			return fmt.Sprintf("spec.configMaps[%d]", i)
		}
	}
	return "metadata.name"
}

func (b *builder) checkContainer(refuse refuseFunc, c *corev1.Container, volumes map[string]bool) {
	for _, p := range validation.IsDNS1123Label(c.Name) {
		refuse("spec.containers", "the container name %q: %s", c.Name, p)
	}
	if c.Image == "" {
		refuse("spec.containers", "container %s has no image", c.Name)
	}
	for _, port := range c.Ports {
		for _, p := range validation.IsValidPortName(port.Name) {
			if port.Name != "" {
				refuse("spec.portName", "the port name %q: %s", port.Name, p)
			}
		}
	}
	paths := map[string]bool{}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			refuse("spec.volumeMounts", "container %s mounts a volume %q that the pod does not have", c.Name, m.Name)
		}
		if paths[m.MountPath] {
			refuse("spec.volumeMounts", "container %s mounts %s twice", c.Name, m.MountPath)
		}
		paths[m.MountPath] = true
	}
	for _, e := range c.Env {
		for _, p := range validation.IsEnvVarName(e.Name) {
			refuse("spec.containers", "the environment variable %q of container %s: %s", e.Name, c.Name, p)
		}
	}
}

// shown is how many of the largest parts a message names.
const shown = 5

// largest names the jobs that make a configuration large.
func largest(c *agentyaml.Config) string {
	type part struct {
		name string
		size int
	}
	var parts []part
	for i := range c.Metrics.Configs {
		for n := range c.Metrics.Configs[i].ScrapeConfigs {
			job := c.Metrics.Configs[i].ScrapeConfigs[n]
			one := &agentyaml.Config{Metrics: &agentyaml.Metrics{Configs: []agentyaml.Instance{{ScrapeConfigs: []*agentyaml.ScrapeConfig{job}}}}}
			parts = append(parts, part{job.JobName, len(agentyaml.Encode(one))})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		if a.size != b.size {
			return b.size - a.size
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, p := range parts[:min(len(parts), shown)] {
		names = append(names, fmt.Sprintf("%s (%d bytes)", p.name, p.size))
	}
	return strings.Join(names, ", ")
}
