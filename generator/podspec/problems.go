package podspec

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// VolumeProblem returns why Kubernetes would refuse a volume whatever its name; empty when
// it would not. A volume without a source is an emptyDir.
func VolumeProblem(v *corev1.Volume) string {
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
	case v.HostPath != nil:
		if v.HostPath.Path == "" {
			return "hostPath needs a path"
		}
		return backsteps("hostPath.path", v.HostPath.Path)
	case v.Secret != nil:
		return named("secret.secretName", v.Secret.SecretName, v.Secret.Items)
	case v.ConfigMap != nil:
		return named("configMap.name", v.ConfigMap.Name, v.ConfigMap.Items)
	case v.PersistentVolumeClaim != nil:
		return named("persistentVolumeClaim.claimName", v.PersistentVolumeClaim.ClaimName, nil)
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate == nil:
		return "ephemeral needs a volumeClaimTemplate"
	case v.Ephemeral != nil:
		if field, problem := ClaimProblem(&v.Ephemeral.VolumeClaimTemplate.Spec); problem != "" {
			return "ephemeral.volumeClaimTemplate.spec." + field + ": " + problem
		}
	case v.Projected != nil:
		return projectedProblem(v.Projected.Sources)
	}
	return ""
}

func projectedProblem(list []corev1.VolumeProjection) string {
	for i := range list {
		problem := ""
		switch p := &list[i]; {
		case p.Secret != nil:
			problem = named("secret.name", p.Secret.Name, p.Secret.Items)
		case p.ConfigMap != nil:
			problem = named("configMap.name", p.ConfigMap.Name, p.ConfigMap.Items)
		}
		if problem != "" {
			return fmt.Sprintf("projected.sources[%d]: %s", i, problem)
		}
	}
	return ""
}

// named checks a reference to an object, and which of its keys become which files.
func named(field, name string, items []corev1.KeyToPath) string {
	if name == "" {
		return field + " is empty"
	}
	for _, item := range items {
		if item.Key == "" || item.Path == "" {
			return "an item needs a key and a path"
		}
		if problem := localPath("the path of an item", item.Path); problem != "" {
			return problem
		}
		if strings.HasPrefix(item.Path, "..") {
			return fmt.Sprintf("the path of an item, %q, begins with ..", item.Path)
		}
	}
	return ""
}

// MountProblem returns why Kubernetes, or the container runtime, would refuse a mount;
// empty when they would not.
func MountProblem(m *corev1.VolumeMount, privileged bool) string {
	switch {
	case m.MountPath == "" || strings.Contains(m.MountPath, ":"):
		return fmt.Sprintf("the mount path %q: it may not be empty or hold a colon", m.MountPath)
	case absolute(m.MountPath) == "/":
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
		return fmt.Sprintf("mountPropagation %q: it is none of None, HostToContainer, Bidirectional", propagation)
	}
	return readOnlyProblem(m, propagation)
}

func readOnlyProblem(m *corev1.VolumeMount, propagation corev1.MountPropagationMode) string {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == corev1.RecursiveReadOnlyDisabled {
		return ""
	}
	switch mode := *m.RecursiveReadOnly; {
	case mode != corev1.RecursiveReadOnlyEnabled && mode != corev1.RecursiveReadOnlyIfPossible:
		return fmt.Sprintf("recursiveReadOnly %q: it is none of Disabled, IfPossible, Enabled", mode)
	case !m.ReadOnly || propagation != corev1.MountPropagationNone:
		return "recursiveReadOnly: it needs readOnly: true, and no mountPropagation"
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

// absolute is a mount path as the kubelet understands it.
func absolute(p string) string { return path.Clean("/" + p) }

// below reports whether a mount path is another or lies in it.
func below(p, folder string) bool {
	p, folder = absolute(p), absolute(folder)
	return p == folder || strings.HasPrefix(p, folder+"/")
}
