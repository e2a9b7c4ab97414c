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
	"github.com/agentry-dev/agentry/generator/internal/podrules"
)

// refuses begins the message about something that Kubernetes would not accept.
const refuses = "Kubernetes would refuse "

// maxStatefulSetName leaves room for the hash that the controller appends: name and hash become the pods' label
// controller-revision-hash, which is limited to 63 characters.
const maxStatefulSetName = 52

// checker finds what Kubernetes would refuse in the objects of a GrafanaAgent. Such an object must not be rendered,
// because it blocks a whole Flux Kustomization.
type checker struct {
	grafanaAgent
	refused map[string]bool // fields with an error
	warned  map[string]bool // fields with a warning
	found   diag.List
	// namesFields writes the fields into the messages about errors of package podrules, because the path of the
	// diagnostic becomes that of a patch.
	namesFields bool
}

func newChecker(a grafanaAgent) checker {
	return checker{grafanaAgent: a, refused: map[string]bool{}, warned: map[string]bool{}}
}

// check returns the diagnostics about an object, except those that it has already returned for another object.
func (c *checker) check(o Resource) diag.List {
	c.found = nil
	switch o := o.(type) {
	case *corev1.Service:
		for _, p := range validation.IsDNS1035Label(o.Name) {
			c.refuse("metadata.name", "Service %s: its name: %s", o.Name, p)
		}
		c.checkLabels(o.Labels)
	case *appsv1.StatefulSet:
		if len(o.Name) > maxStatefulSetName {
			c.refuse("metadata.name", "StatefulSet %s: its pods: the name is %d characters long, and with the hash "+
				"of its revision a label may have %d", o.Name, len(o.Name), maxStatefulSetName)
		}
		var claims []string
		for i := range o.Spec.VolumeClaimTemplates {
			claims = append(claims, o.Spec.VolumeClaimTemplates[i].Name)
			c.checkClaim(&o.Spec.VolumeClaimTemplates[i])
		}
		c.checkTemplate(&o.ObjectMeta, &o.Spec.Template, claims)
	case *appsv1.DaemonSet:
		c.checkTemplate(&o.ObjectMeta, &o.Spec.Template, nil)
	case *appsv1.Deployment:
		c.checkTemplate(&o.ObjectMeta, &o.Spec.Template, nil)
	}
	return c.found
}

// checkTemplate checks a workload's metadata and its pods. Only StatefulSets limit the name's length further, because
// they append a hash to it in a label.
func (c *checker) checkTemplate(meta *metav1.ObjectMeta, pods *corev1.PodTemplateSpec, claims []string) {
	for _, p := range validation.IsDNS1123Subdomain(meta.Name) {
		c.refuse("metadata.name", "the name %s: %s", meta.Name, p)
	}
	c.checkLabels(meta.Labels)
	c.checkLabels(pods.Labels)
	c.checkAnnotations(pods.Annotations)
	c.checkPod(&pods.Spec, claims)
}

// refuse reports an error, once for each field: an invalid name is repeated in every label and shard.
func (c *checker) refuse(path, format string, args ...any) {
	c.once(path, refuses+format, args...)
}

// refuseAll reports errors of package podrules. of maps the path of a field to its path in the GrafanaAgent; nil keeps
// the path.
func (c *checker) refuseAll(errs field.ErrorList, of func(string) string) {
	slices.SortFunc(errs, func(x, y *field.Error) int {
		return cmp.Or(cmp.Compare(x.Field, y.Field), cmp.Compare(x.Detail, y.Detail))
	})
	for _, e := range errs {
		path := e.Field
		if of != nil {
			path = of(path)
		}
		if c.namesFields && path != "" {
			c.refuse(path, "it: %s: %s", path, e.ErrorBody())
			continue
		}
		c.refuse(path, "it: %s", e.ErrorBody())
	}
}

// once reports an error unless the field already has one.
func (c *checker) once(path, format string, args ...any) {
	if !c.refused[path] {
		c.refused[path] = true
		c.report(diag.Error, diag.InvalidObject, path, format, args...)
	}
}

// warn reports a warning unless the field already has an error or a warning.
func (c *checker) warn(path, problem string) {
	if !c.refused[path] && !c.warned[path] {
		c.warned[path] = true
		c.report(diag.Warning, diag.PodWarning, path, "%s", problem)
	}
}

func (c *checker) report(severity diag.Severity, code diag.Code, path, format string, args ...any) {
	c.found = append(c.found, code.At(path, format, args...).As(severity))
}

func (c *checker) checkLabels(labels map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		v := labels[k]
		problems := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...)
		if len(problems) == 0 {
			continue
		}
		path := "metadata.name"
		if m := c.spec.PodMetadata; c.options.Labels[k] == v {
			path = "" // the field is one of agentry's own settings
		} else if m != nil && m.Labels[k] == v {
			path = "spec.podMetadata.labels[" + k + "]"
		}
		c.refuse(path, "the label %s=%s: %s", k, v, strings.Join(problems, "; "))
	}
}

func (c *checker) checkAnnotations(annotations map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		for _, p := range validation.IsQualifiedName(strings.ToLower(k)) {
			c.refuse("spec.podMetadata.annotations["+k+"]", "the annotation %s: %s", k, p)
		}
	}
}

func (c *checker) checkPod(pod *corev1.PodSpec, claims []string) {
	c.checkReferences()
	c.refuseAll(podrules.Pod(pod, field.NewPath("spec")), nil)
	for _, d := range podrules.PodWarnings(pod, field.NewPath("spec")) {
		c.warn(d.Field, d.Detail)
	}
	c.warnOfVolumes()
	known, claimed := c.checkVolumes(pod.Volumes, claims)
	names, ports := map[string]bool{}, map[string]bool{}
	for n, list := range [...][]corev1.Container{pod.InitContainers, pod.Containers} {
		of := [...]string{"spec.initContainers", "spec.containers"}[n]
		for i := range list {
			path := containerPath(c.spec, of, list[i].Name, names[list[i].Name])
			if names[list[i].Name] {
				c.refuse(path, "two containers named %q", list[i].Name)
			}
			names[list[i].Name] = true
			c.checkContainer(path, &list[i], n == 0, known, claimed)
			c.checkUser(path, &list[i], pod.SecurityContext)
			c.checkPorts(path, &list[i], n == 0, ports)
		}
	}
}

// warnOfVolumes checks the GrafanaAgent's own volumes; package podspec checks the volumes of integrations.
func (c *checker) warnOfVolumes() {
	for i := range c.spec.Volumes {
		v := &c.spec.Volumes[i]
		if problem := podrules.VolumeWarning(v); problem != "" && podrules.Volume(v) == "" {
			c.warn(fmt.Sprintf("spec.volumes[%d]", i), problem)
		}
	}
}

// checkVolumes checks the volumes. It returns the names of all volumes, and of those that are claims.
func (c *checker) checkVolumes(volumes []corev1.Volume, claims []string) (known, claimed map[string]bool) {
	known, claimed = map[string]bool{}, map[string]bool{}
	for _, name := range claims {
		for _, p := range validation.IsDNS1123Label(name) {
			c.refuse(claimPath(c.spec), "the name of the volume claim, %q: %s", name, p)
		}
		known[name], claimed[name] = true, true
	}
	seen := map[string]int{}
	for i := range volumes {
		v := &volumes[i]
		path := volumePath(c.spec, v.Name, seen[v.Name])
		for _, p := range validation.IsDNS1123Label(v.Name) {
			c.refuse(path, "the volume name %q: %s", v.Name, p)
		}
		switch {
		case seen[v.Name] > 0:
			c.refuse(path, "two volumes named %q", v.Name)
		case slices.Contains(claims, v.Name):
			c.once(claimPath(c.spec), "the volume claim would take the place of the pod's volume %q", v.Name)
		default:
			if problem := podrules.Volume(v); problem != "" {
				if s := c.spec.Storage; s != nil && s.Ephemeral != nil && s.Ephemeral == v.Ephemeral {
					path = "spec.storage.ephemeral"
				}
				c.refuse(path, "the volume %q: %s", v.Name, problem)
			}
		}
		seen[v.Name]++
		known[v.Name] = true
		claimed[v.Name] = v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	}
	return known, claimed
}

// checkClaim checks a claim template.
func (c *checker) checkClaim(claim *corev1.PersistentVolumeClaim) {
	if claim.Spec.Resources.Requests.Storage().IsZero() {
		c.report(diag.Error, diag.InvalidObject, "spec.storage",
			"needs emptyDir, ephemeral, or a volumeClaimTemplate with spec.resources.requests.storage")
		return
	}
	if field, problem := podrules.Claim(&claim.Spec); problem != "" {
		c.refuse("spec.storage.volumeClaimTemplate.spec."+field, "the volume claim: %s", problem)
	}
}

// checkReferences checks the names of the objects that the pods mount, because Kubernetes accepts any nonempty name
// there.
func (c *checker) checkReferences() {
	for field, list := range map[string][]string{"spec.secrets": c.spec.Secrets, "spec.configMaps": c.spec.ConfigMaps} {
		for i, name := range list {
			if name == "" {
				c.refuse(fmt.Sprintf("%s[%d]", field, i), "a volume of an object without a name")
			}
		}
	}
}
