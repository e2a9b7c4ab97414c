package podspec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// place adds a mount and returns true, unless its path is taken.
func (m *merger) place(e *mount) bool {
	if other := m.mounts[e.MountPath]; other != nil {
		m.conflict(e, other)
		return false
	}
	m.mounts[e.MountPath] = e
	m.out.Mounts = append(m.out.Mounts, e.VolumeMount)
	return true
}

// conflict reports a mount that is left out, unless the other mount shows the same files.
func (m *merger) conflict(e, other *mount) {
	if interchangeable(e, other) {
		return
	}
	reported := false
	pairs := [][2]*mount{{e, other}, {other, e}}
	if e.owner == other.owner {
		pairs = pairs[:1]
	}
	for _, pair := range pairs {
		if _, strict := pair[0].owner.Value().(*v1alpha1.MetricsIntegration); strict {
			m.report(pair[0].owner, diag.Error, diag.MountConflict, pair[0].path,
				"%s mounts another volume at %s", place(pair[1], pair[0].owner), e.MountPath)
			m.relate(pair[1].owner)
			reported = true
		}
	}
	if !reported {
		m.report(e.owner, diag.Warning, diag.MountConflict, e.path,
			"the mount is left out: %s mounts another volume at %s", place(other, e.owner), e.MountPath)
		m.relate(other.owner)
	}
}

// place describes a mount in a message about another object.
func place(e *mount, other *manifest.Object) string { return e.owner.SeenFrom(other, e.path) }

// interchangeable reports whether two mounts show the same files.
func interchangeable(a, b *mount) bool {
	if a.volume == nil || b.volume == nil || a.volume.EmptyDir != nil || a.volume.Ephemeral != nil ||
		a.volume.VolumeSource == (corev1.VolumeSource{}) {
		return false
	}
	x, y := a.VolumeMount, b.VolumeMount
	x.Name = y.Name
	return equality.Semantic.DeepEqual(x, y) &&
		equality.Semantic.DeepEqual(a.volume.VolumeSource, b.volume.VolumeSource)
}

// addFiles mounts a volume of files that integrations list. If another mount is in the way at v.Path, that
// mount's object gets an error; at v.Short, the path of the first RFC, the files are not mounted.
func (m *merger) addFiles(v secretref.Volume) {
	added := false
	mountAt := func(path string) {
		if !added {
			v.Name = m.name(v.Name, "files of "+v.Name)
			m.out.Volumes = append(m.out.Volumes, corev1.Volume{Name: v.Name, VolumeSource: v.Source})
			added = true
		}
		m.out.Mounts = append(m.out.Mounts, corev1.VolumeMount{Name: v.Name, ReadOnly: true, MountPath: path})
	}
	if v.Path != "" {
		m.checkFiles(v)
		mountAt(v.Path)
	}
	if v.Short == "" {
		return
	}
	if other := m.inTheWay(v, v.Short); other != nil {
		m.report(v.Object, diag.Warning, diag.MountConflict, "spec",
			"its files are not mounted at %s: %s mounts a volume there", v.Short, place(other, v.Object))
		m.relate(other.owner)
	} else if taken := m.reserved(v.Short); taken != "" {
		m.report(v.Object, diag.Warning, diag.MountConflict, "spec", "its files are not mounted at %s: %s", v.Short,
			taken)
		m.relate(m.agent)
	} else {
		mountAt(v.Short)
	}
}

// checkFiles reports an error about each object whose mount is in the way of a volume of files.
func (m *merger) checkFiles(v secretref.Volume) {
	if other := m.inTheWay(v, v.Path); other != nil {
		m.report(other.owner, diag.Error, diag.MountConflict, other.path,
			"the files of spec.secrets and spec.configMaps of %s are mounted at %s", v.Object.ID, other.MountPath)
		m.relate(v.Object)
	}
	if taken := m.reserved(v.Path); taken != "" {
		m.report(v.Object, diag.Error, diag.MountConflict, "spec", "its files are mounted at %s: %s", v.Path, taken)
		m.relate(m.agent)
	}
}

// inTheWay returns a mount of an integration that is at path, or at one of the volume's own files or folders
// below it. The kubelet creates a folder for that mount first, and then cannot write the volume.
func (m *merger) inTheWay(v secretref.Volume, path string) *mount {
	var found *mount
	for _, e := range m.mounts {
		if !below(e.MountPath, path) || found != nil && found.MountPath < e.MountPath {
			continue
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(absolute(e.MountPath), path), "/")
		if first, _, _ := strings.Cut(rest, "/"); first == "" || holds(&v.Source, first) {
			found = e
		}
	}
	return found
}

// holds reports whether a volume has, or could have, a file or folder with the name.
func holds(v *corev1.VolumeSource, name string) bool {
	list := items(v)
	return len(list) == 0 || slices.ContainsFunc(list, func(i corev1.KeyToPath) bool { return below("/"+i.Path, name) })
}

// items returns the keys that a volume shows. It returns nil if the volume shows all keys or has none.
func items(v *corev1.VolumeSource) []corev1.KeyToPath {
	switch {
	case v == nil:
		return nil
	case v.Secret != nil:
		return v.Secret.Items
	case v.ConfigMap != nil:
		return v.ConfigMap.Items
	}
	return nil
}
