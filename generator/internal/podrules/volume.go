package podrules

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Volume returns the first reason why Kubernetes would refuse a volume, or nothing. The volume's name is not
// checked. A volume without a source is an emptyDir.
func Volume(v *corev1.Volume) string {
	sources := reflect.ValueOf(v.VolumeSource)
	set := 0
	for i := range sources.NumField() {
		if !sources.Field(i).IsNil() {
			set++
		}
	}
	switch {
	case set > 1:
		return "it has more than one source"
	case v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() < 0:
		return "emptyDir.sizeLimit must not be negative"
	case v.HostPath != nil:
		if v.HostPath.Path == "" {
			return "hostPath needs a path"
		}
		if problem := backsteps("hostPath.path", v.HostPath.Path); problem != "" {
			return problem
		}
		return first(oneOfIfSet(field.NewPath("hostPath.type"), v.HostPath.Type, corev1.HostPathUnset,
			corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory,
			corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev,
			corev1.HostPathBlockDev))
	case v.Secret != nil:
		return named("secret.secretName", v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode)
	case v.ConfigMap != nil:
		return named("configMap.name", v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode)
	case v.PersistentVolumeClaim != nil:
		return named("persistentVolumeClaim.claimName", v.PersistentVolumeClaim.ClaimName, nil, nil)
	case v.NFS != nil && (v.NFS.Server == "" || !path.IsAbs(v.NFS.Path)):
		return "nfs needs a server and an absolute path"
	case v.CSI != nil:
		return csi(v.CSI)
	case v.Image != nil:
		return first(oneOf(field.NewPath("image.pullPolicy"), v.Image.PullPolicy, "", corev1.PullAlways,
			corev1.PullIfNotPresent, corev1.PullNever))
	case v.DownwardAPI != nil:
		return first(append(downward(v.DownwardAPI.Items, field.NewPath("downwardAPI.items")),
			mode(v.DownwardAPI.DefaultMode, field.NewPath("downwardAPI.defaultMode"))...))
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate == nil:
		return "ephemeral needs a volumeClaimTemplate"
	case v.Ephemeral != nil:
		return ephemeral(v.Ephemeral.VolumeClaimTemplate)
	case v.Projected != nil:
		return projected(v.Projected)
	}
	return ""
}

// ephemeral returns the problem of an ephemeral volume's claim template, or nothing.
func ephemeral(t *corev1.PersistentVolumeClaimTemplate) string {
	rest := t.ObjectMeta
	rest.Labels, rest.Annotations = nil, nil
	if !reflect.DeepEqual(rest, metav1.ObjectMeta{}) {
		return "ephemeral.volumeClaimTemplate.metadata: only labels and annotations can be set"
	}
	at := field.NewPath("ephemeral.volumeClaimTemplate.metadata")
	errs := append(metav1validation.ValidateLabels(t.Labels, at.Child("labels")),
		apivalidation.ValidateAnnotations(t.Annotations, at.Child("annotations"))...)
	if len(errs) > 0 {
		return first(errs)
	}
	if field, problem := Claim(&t.Spec); problem != "" {
		return "ephemeral.volumeClaimTemplate.spec." + field + ": " + problem
	}
	return ""
}

// first returns the text of the first error, or nothing.
func first(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Error()
}

// The limits of expirationSeconds of a projected token.
const minTokenLife, maxTokenLife = 10 * 60, 1 << 32

func projected(v *corev1.ProjectedVolumeSource) string {
	errs := mode(v.DefaultMode, field.NewPath("projected.defaultMode"))
	files := map[string]bool{}
	for i := range v.Sources {
		s, path := &v.Sources[i], field.NewPath("projected.sources").Index(i)
		kinds, problem := 0, ""
		if s.Secret != nil {
			kinds++
			problem = named("secret.name", s.Secret.Name, s.Secret.Items, nil)
		}
		if s.ConfigMap != nil {
			kinds++
			problem = cmp.Or(problem, named("configMap.name", s.ConfigMap.Name, s.ConfigMap.Items, nil))
		}
		if s.DownwardAPI != nil {
			kinds++
			errs = append(errs, downward(s.DownwardAPI.Items, path.Child("downwardAPI", "items"))...)
		}
		if t := s.ServiceAccountToken; t != nil {
			kinds++
			problem = cmp.Or(problem, filePath("serviceAccountToken.path", t.Path))
			if life := t.ExpirationSeconds; life != nil {
				errs = append(errs, inRange(path.Child("serviceAccountToken", "expirationSeconds"), *life, minTokenLife,
					maxTokenLife)...)
			}
		}
		if s.ClusterTrustBundle != nil {
			kinds++
			problem = cmp.Or(problem, filePath("clusterTrustBundle.path", s.ClusterTrustBundle.Path))
		}
		if s.PodCertificate != nil {
			kinds++
		}
		for _, f := range projectedPaths(s) {
			if files[f] {
				errs = append(errs, field.Duplicate(path, f))
			}
			files[f] = true
		}
		switch {
		case problem != "":
			return fmt.Sprintf("%s: %s", path, problem)
		case kinds > 1:
			return fmt.Sprintf("%s has more than one kind", path)
		}
	}
	return first(errs)
}

func paths(items []corev1.KeyToPath) (out []string) {
	for _, i := range items {
		out = append(out, i.Path)
	}
	return out
}

func downwardPaths(items []corev1.DownwardAPIVolumeFile) (out []string) {
	for _, i := range items {
		out = append(out, i.Path)
	}
	return out
}

// projectedPaths returns the paths of a projected source that no other source of the volume may have.
func projectedPaths(s *corev1.VolumeProjection) (out []string) {
	if s.Secret != nil {
		out = append(out, paths(s.Secret.Items)...)
	}
	if s.ConfigMap != nil {
		out = append(out, paths(s.ConfigMap.Items)...)
	}
	if s.DownwardAPI != nil {
		out = append(out, downwardPaths(s.DownwardAPI.Items)...)
	}
	if s.ClusterTrustBundle != nil {
		out = append(out, s.ClusterTrustBundle.Path)
	}
	return out
}

// downward checks the files of a downward API volume.
func downward(files []corev1.DownwardAPIVolumeFile, path *field.Path) (errs field.ErrorList) {
	for i, f := range files {
		path := path.Index(i)
		if problem := filePath("the path", f.Path); problem != "" {
			errs = append(errs, field.Invalid(path.Child("path"), f.Path, problem))
		}
		errs = append(errs, mode(f.Mode, path.Child("mode"))...)
		switch {
		case (f.FieldRef == nil) == (f.ResourceFieldRef == nil):
			errs = append(errs, field.Required(path, "needs one of fieldRef and resourceFieldRef"))
		case f.FieldRef != nil:
			errs = append(errs, fieldRef(f.FieldRef, volumeFields, path.Child("fieldRef"))...)
		case f.ResourceFieldRef.ContainerName == "":
			errs = append(errs, field.Required(path.Child("resourceFieldRef", "containerName"), ""))
		default:
			errs = append(errs, resourceRef(f.ResourceFieldRef, path.Child("resourceFieldRef"))...)
		}
	}
	return errs
}

// mode checks the permission bits of files.
func mode(m *int32, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	if *m < 0 || *m > 0o777 {
		return field.ErrorList{field.Invalid(path, *m, "must be between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

// maxDriverName is the longest name of a CSI driver.
const maxDriverName = 63

func csi(v *corev1.CSIVolumeSource) string {
	errs := invalid(field.NewPath("csi.driver"), v.Driver, validation.IsDNS1123Subdomain(strings.ToLower(v.Driver)))
	if len(v.Driver) > maxDriverName {
		errs = append(errs, field.TooLong(field.NewPath("csi.driver"), v.Driver, maxDriverName))
	}
	if r := v.NodePublishSecretRef; r != nil {
		errs = append(errs, invalid(field.NewPath("csi.nodePublishSecretRef.name"), r.Name,
			validation.IsDNS1123Subdomain(r.Name))...)
	}
	return first(errs)
}

// named checks a source that refers to an object by name: the name, the files made of its keys, and their mode.
func named(what, name string, items []corev1.KeyToPath, defaultMode *int32) string {
	if name == "" {
		return what + " is empty"
	}
	for _, item := range items {
		if item.Key == "" || item.Path == "" {
			return "an item needs a key and a path"
		}
		if problem := filePath("the path of an item", item.Path); problem != "" {
			return problem
		}
		if errs := mode(item.Mode, field.NewPath("the mode of an item")); len(errs) > 0 {
			return first(errs)
		}
	}
	return first(mode(defaultMode, field.NewPath("defaultMode")))
}

// filePath checks the path of a file in a volume.
func filePath(what, value string) string {
	problem := localPath(what, value)
	switch {
	case value == "":
		return what + " is empty"
	case problem == "" && strings.HasPrefix(value, ".."):
		return fmt.Sprintf("%s, %q, begins with ..", what, value)
	}
	return problem
}

// Mount returns the first reason why Kubernetes or the container runtime would refuse a mount, or nothing.
func Mount(m *corev1.VolumeMount, privileged bool) string {
	switch {
	case m.MountPath == "" || strings.Contains(m.MountPath, ":"):
		return fmt.Sprintf("the mount path %q: it must not be empty or contain a colon", m.MountPath)
	case path.Clean("/"+m.MountPath) == "/":
		return "the mount path /: it would hide the whole image"
	case m.SubPath != "" && m.SubPathExpr != "":
		return "a mount with a subPath and a subPathExpr"
	}
	if problem := localPath("the subPath", m.SubPath+m.SubPathExpr); problem != "" {
		return problem
	}
	propagation := corev1.MountPropagationNone
	if m.MountPropagation != nil {
		propagation = *m.MountPropagation
	}
	switch propagation {
	case corev1.MountPropagationNone, corev1.MountPropagationHostToContainer:
	case corev1.MountPropagationBidirectional:
		if !privileged {
			return "mountPropagation Bidirectional: the container is not privileged"
		}
	default:
		return fmt.Sprintf("mountPropagation %q: it must be None, HostToContainer or Bidirectional", propagation)
	}
	return readOnlyProblem(m, propagation)
}

func readOnlyProblem(m *corev1.VolumeMount, propagation corev1.MountPropagationMode) string {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return ""
	}
	switch mode := *m.RecursiveReadOnly; {
	case mode != corev1.RecursiveReadOnlyEnabled && mode != corev1.RecursiveReadOnlyIfPossible:
		return fmt.Sprintf("recursiveReadOnly %q: it must be Disabled, IfPossible or Enabled", mode)
	case !m.ReadOnly || propagation != corev1.MountPropagationNone:
		return "recursiveReadOnly: it needs readOnly: true and no mountPropagation"
	}
	return ""
}

func localPath(what, value string) string {
	if path.IsAbs(value) {
		return fmt.Sprintf("%s, %q, must be relative", what, value)
	}
	return backsteps(what, value)
}

func backsteps(what, value string) string {
	for part := range strings.SplitSeq(value, "/") {
		if part == ".." {
			return fmt.Sprintf("%s, %q, must not contain ..", what, value)
		}
	}
	return ""
}
