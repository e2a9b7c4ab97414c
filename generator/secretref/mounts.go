package secretref

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/diag"
)

// Data returns the content of the shared Secret, which all pods mount: the values of all references under Plaintext,
// by file name.
func (r *Resolver) Data() map[string][]byte {
	data := map[string][]byte{}
	for name, u := range r.uses {
		if u.policy == Plaintext {
			data[name] = u.data
		}
	}
	return data
}

// Sizes returns the number of bytes in Data that come from each Secret and ConfigMap.
func (r *Resolver) Sizes() map[diag.Object]int {
	out := map[diag.Object]int{}
	for name, u := range r.uses {
		if u.policy == Plaintext {
			out[u.ref.objects()[0]] += len(name) + len(u.data)
		}
	}
	return out
}

// Projections returns the sources of the volume that the pods of a group mount at [Dir]: one for each Secret or
// ConfigMap whose policy is Reference. All are optional, so that a missing one fails only its own job and the pod
// starts.
func (r *Resolver) Projections(pods Group) []corev1.VolumeProjection {
	var out []corev1.VolumeProjection
	index := map[[2]string]int{}
	yes := true
	for _, name := range slices.Sorted(maps.Keys(r.uses)) {
		u := r.uses[name]
		if u.policy != Reference || u.file&pods == 0 {
			continue
		}
		id := [2]string{u.ref.Kind, r.mounted(u.ref)}
		i, ok := index[id]
		if !ok {
			i = len(out)
			index[id] = i
			p := corev1.VolumeProjection{}
			object := corev1.LocalObjectReference{Name: r.mounted(u.ref)}
			if u.ref.Kind == "Secret" {
				p.Secret = &corev1.SecretProjection{LocalObjectReference: object, Optional: &yes}
			} else {
				p.ConfigMap = &corev1.ConfigMapProjection{LocalObjectReference: object, Optional: &yes}
			}
			out = append(out, p)
		}
		item := corev1.KeyToPath{Key: u.ref.Key, Path: name}
		if s := out[i].Secret; s != nil {
			s.Items = append(s.Items, item)
		} else {
			out[i].ConfigMap.Items = append(out[i].ConfigMap.Items, item)
		}
	}
	return out
}

// Env returns the environment variables that the config reloader of a group's pods writes
// into the configuration, sorted by name.
func (r *Resolver) Env(pods Group) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(r.uses)) {
		u := r.uses[name]
		if u.env&pods == 0 {
			continue
		}
		object := corev1.LocalObjectReference{Name: r.mounted(u.ref)}
		source := &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: object,
			Key: u.ref.Key}}
		if u.ref.Kind == "ConfigMap" {
			source = &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: object,
				Key: u.ref.Key}}
		}
		out = append(out, corev1.EnvVar{Name: envName(u.ref), ValueFrom: source})
	}
	return out
}
