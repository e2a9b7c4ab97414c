package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/podrules"
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

// refuseAll is refuse for what podrules found. of tells which field of the GrafanaAgent it comes
// from; without it, the same.
func (b *builder) refuseAll(errs field.ErrorList, of func(string) string) {
	slices.SortFunc(errs, func(x, y *field.Error) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Detail, y.Detail))
	})
	for _, e := range errs {
		path := e.Field
		if of != nil {
			path = of(path)
		}
		b.refuse(path, "it: %s", e.ErrorBody())
	}
}

// once reports the first problem of a field.
func (b *builder) once(path, format string, args ...any) {
	if !b.refused[path] {
		b.refused[path] = true
		b.fail(diag.InvalidObject, path, format, args...)
	}
}

// doubt is once for what Kubernetes takes with a warning.
func (b *builder) doubt(path, problem string) {
	if !b.refused[path] && !b.doubted[path] {
		b.doubted[path] = true
		b.diags = append(b.diags, b.agent.Diag(diag.Warning, diag.PodWarning, path, "%s", problem))
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
	b.checkReferences()
	b.refuseAll(podrules.Pod(pod, field.NewPath("spec")), nil)
	for _, d := range podrules.PodWarnings(pod, field.NewPath("spec")) {
		b.doubt(d.Field, d.Detail)
	}
	b.doubtVolumes()
	known, claimed := b.checkVolumes(pod.Volumes, claims)
	names, ports := map[string]bool{}, map[string]bool{}
	for n, list := range [...][]corev1.Container{pod.InitContainers, pod.Containers} {
		of := [...]string{"spec.initContainers", "spec.containers"}[n]
		for i := range list {
			path := b.containerPath(of, list[i].Name, names[list[i].Name])
			if names[list[i].Name] {
				b.refuse(path, "two containers named %q", list[i].Name)
			}
			names[list[i].Name] = true
			b.checkContainer(path, &list[i], n == 0, known, claimed)
			b.checkPorts(path, &list[i], n == 0, ports)
		}
	}
}

// doubtVolumes doubts the GrafanaAgent's own volumes; podspec does those of integrations.
func (b *builder) doubtVolumes() {
	for i := range b.spec.Volumes {
		v := &b.spec.Volumes[i]
		if problem := podrules.VolumeWarning(v); problem != "" && podrules.Volume(v) == "" {
			b.doubt(fmt.Sprintf("spec.volumes[%d]", i), problem)
		}
	}
}

// checkVolumes returns which volumes there are, and which of them are claims.
func (b *builder) checkVolumes(volumes []corev1.Volume, claims []string) (known, claimed map[string]bool) {
	known, claimed = map[string]bool{}, map[string]bool{}
	for _, name := range claims {
		for _, p := range validation.IsDNS1123Label(name) {
			b.refuse(b.claimPath(), "the name of the volume claim, %q: %s", name, p)
		}
		known[name], claimed[name] = true, true
	}
	seen := map[string]int{}
	for i := range volumes {
		v := &volumes[i]
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
			if problem := podrules.Volume(v); problem != "" {
				if s := b.spec.Storage; s != nil && s.Ephemeral != nil && s.Ephemeral == v.Ephemeral {
					path = "spec.storage.ephemeral"
				}
				b.refuse(path, "the volume %q: %s", v.Name, problem)
			}
		}
		seen[v.Name]++
		known[v.Name] = true
		claimed[v.Name] = v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	}
	return known, claimed
}

// checkClaim checks a claim template. That it has no size is told where it is made.
func (b *builder) checkClaim(c *corev1.PersistentVolumeClaim) {
	if field, problem := podrules.Claim(&c.Spec); problem != "" && !c.Spec.Resources.Requests.Storage().IsZero() {
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
