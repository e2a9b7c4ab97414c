package difference

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/workload"
)

// secretsNeeded adds a consequence for each key of a Secret or ConfigMap that pods newly need, unless the key is
// rendered too.
func (u *unit) secretsNeeded() {
	isPods := func(o *object) bool { return workload.IsWorkload(o.ID.Kind) }
	if !slices.ContainsFunc(u.objects, func(o *object) bool {
		return isPods(o) && len(o.changes) > 0 && o.After.Text != nil
	}) {
		return
	}
	before, after, rendered := map[[2]string]bool{}, map[[2]string]bool{}, map[string]bool{}
	for _, o := range u.objects {
		switch {
		case isPods(o):
			needs(o.ID.Namespace, o.pods(0), before)
			needs(o.ID.Namespace, o.pods(1), after)
		case o.After.Text != nil:
			rendered[o.ID.Kind+" "+o.ID.Namespace+"/"+o.ID.Name] = true
		}
	}
	for _, need := range slices.SortedFunc(maps.Keys(after), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		if !before[need] && !rendered[need[0]] {
			u.find(SecretsNeeded, need[0], need[1])
		}
	}
}

// needs adds the Secrets and ConfigMaps of a namespace, with their keys, that pods refer to.
func needs(namespace string, pods *corev1.PodTemplateSpec, into map[[2]string]bool) {
	if pods == nil {
		return
	}
	add := func(kind, name, key string) {
		if key != "" {
			key = "key " + key
		}
		if name != "" {
			into[[2]string{kind + " " + namespace + "/" + name, key}] = true
		}
	}
	items := func(kind, name string, items []corev1.KeyToPath) {
		for _, item := range items {
			add(kind, name, item.Key)
		}
		if len(items) == 0 {
			add(kind, name, "")
		}
	}
	pod := pods.Spec
	for _, s := range pod.ImagePullSecrets {
		add("Secret", s.Name, "")
	}
	for _, v := range pod.Volumes {
		if s := v.Secret; s != nil {
			items("Secret", s.SecretName, s.Items)
		}
		if c := v.ConfigMap; c != nil {
			items("ConfigMap", c.Name, c.Items)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if s := source.Secret; s != nil {
				items("Secret", s.Name, s.Items)
			}
			if c := source.ConfigMap; c != nil {
				items("ConfigMap", c.Name, c.Items)
			}
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		variables(c, add)
	}
}

// variables adds the Secrets and ConfigMaps that the environment variables of a container refer to.
func variables(c corev1.Container, add func(kind, name, key string)) {
	for _, e := range c.EnvFrom {
		if s := e.SecretRef; s != nil {
			add("Secret", s.Name, "")
		}
		if m := e.ConfigMapRef; m != nil {
			add("ConfigMap", m.Name, "")
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if s := e.ValueFrom.SecretKeyRef; s != nil {
			add("Secret", s.Name, s.Key)
		}
		if m := e.ValueFrom.ConfigMapKeyRef; m != nil {
			add("ConfigMap", m.Name, m.Key)
		}
	}
}
