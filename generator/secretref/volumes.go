package secretref

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// Volume is a volume with files for integrations.
type Volume struct {
	// Name is the preferred name. It is changed if Kubernetes would refuse it.
	Name   string
	Source corev1.VolumeSource
	// Path is the mount path, or empty if the volume is mounted at Short only.
	Path string
	// Short is the mount path in the layout of the first RFC. The volume is mounted there too, unless another mount is
	// in the way.
	Short string
	// Object is the first object that lists its content.
	Object *manifest.Object
}

// Volumes returns the volumes that the pods of a group mount for the files that their integrations list.
//
// If everything is Plaintext there is, as with the operator, one volume with the listed keys of the GrafanaAgent's
// shared Secret, and one for each whole Secret and ConfigMap, at the path of the first RFC's layout. Otherwise there
// is one volume for each object, because a single projected volume can neither hold all keys of an object in a folder
// nor have a mount inside it: under Reference it shows the cluster's own object, under Plaintext the shared Secret.
// Volumes of the cluster's objects are optional, so that a missing object fails only its own integration and the pod
// starts.
func (r *Resolver) Volumes(pods Group, agent string) []Volume {
	isReference := func(l *listing) bool { return l.pods&pods != 0 && r.policyOf(l.ref) == Reference }
	if !slices.ContainsFunc(r.listed, isReference) {
		return r.copied(pods, agent)
	}
	var out []Volume
	index := map[manifest.ID]int{}
	for _, l := range r.listed {
		copied := !isReference(l)
		if l.pods&pods == 0 || copied && len(l.keys) == 0 {
			continue
		}
		i, ok := index[l.ref.ID()]
		if !ok {
			i = len(out)
			index[l.ref.ID()] = i
			whole := l.ref
			whole.Key = ""
			v := Volume{Name: whole.volumeName(), Source: r.volume(whole), Path: whole.dir(), Object: l.object}
			if copied {
				v.Source = copies(agent, nil)
			}
			out = append(out, v)
		}
		if l.whole() && !r.nameClash(l, pods) {
			out[i].Short = l.ref.shortDir()
		}
		switch {
		case copied:
			all := append(items(&out[i].Source), l.copies()...)
			slices.SortStableFunc(all, func(a, b corev1.KeyToPath) int { return strings.Compare(a.Key, b.Key) })
			setItems(&out[i].Source, slices.Compact(all)) // a key may be listed alone and with its object
		case l.whole():
			setItems(&out[i].Source, nil)
		case out[i].Short == "":
			setItems(&out[i].Source, append(items(&out[i].Source), corev1.KeyToPath{Key: l.ref.Key, Path: l.ref.Key}))
		}
	}
	return out
}

// copies returns the keys of the shared Secret that hold the listed content, each with its own key as the path.
func (l *listing) copies() (out []corev1.KeyToPath) {
	for _, key := range l.keys {
		ref := l.ref
		ref.Key = key
		out = append(out, corev1.KeyToPath{Key: ref.FileName(), Path: key})
	}
	return out
}

// copied returns the volumes that show the shared Secret.
func (r *Resolver) copied(pods Group, agent string) []Volume {
	var all []corev1.KeyToPath
	var out []Volume
	seen := map[string]bool{}
	var first *manifest.Object
	for _, l := range r.listed {
		if l.pods&pods == 0 || len(l.keys) == 0 {
			continue
		}
		if first == nil {
			first = l.object
		}
		own := l.copies()
		for _, item := range own {
			ref := l.ref
			ref.Key = item.Path
			if path := ref.filesPath(); !seen[path] {
				seen[path] = true
				all = append(all, corev1.KeyToPath{Key: item.Key, Path: path})
			}
		}
		if l.whole() && !r.nameClash(l, pods) {
			out = append(out, Volume{Name: l.ref.volumeName(), Source: copies(agent, own), Short: l.ref.shortDir(),
				Object: l.object})
		}
	}
	if len(all) == 0 {
		return nil // a volume without items would show all keys
	}
	return append([]Volume{{Name: agent + "-integrations-secrets", Source: copies(agent, all), Path: FilesDir,
		Object: first}}, out...)
}

func copies(agent string, items []corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: agent + "-secrets", Items: items}}
}

// nameClash reports whether integrations in these pods list another whole object with the same name.
func (r *Resolver) nameClash(l *listing, pods Group) bool {
	for _, other := range r.listed {
		if other.pods&pods != 0 && l.sameName(other) {
			return true
		}
	}
	return false
}

func (r Ref) volumeName() string { return "integration-" + strings.ToLower(r.Kind) + "-" + r.Name }

// volume returns a volume source for the object in the cluster that holds the content of a reference.
func (r *Resolver) volume(ref Ref) corev1.VolumeSource {
	yes := true
	if ref.Kind == "ConfigMap" {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: r.mounted(ref)}, Optional: &yes}}
	}
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: r.mounted(ref), Optional: &yes}}
}

func items(v *corev1.VolumeSource) []corev1.KeyToPath {
	if v.ConfigMap != nil {
		return v.ConfigMap.Items
	}
	return v.Secret.Items
}

func setItems(v *corev1.VolumeSource, list []corev1.KeyToPath) {
	if v.ConfigMap != nil {
		v.ConfigMap.Items = list
		return
	}
	v.Secret.Items = list
}
