package rendered

import (
	"maps"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/test/agentcheck/check"
)

func (w *workload) mounts(s corev1.Secret) bool {
	if w.Metadata.Namespace != s.Namespace {
		return false
	}
	for _, v := range w.Spec.Template.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == s.Name {
			return true
		}
	}
	return false
}

const (
	reloader = "config-reloader"
	agent    = "grafana-agent"
	// ordinalFlag makes the reloader set STATEFULSET_ORDINAL_NUMBER from another variable.
	ordinalFlag = "--statefulset-ordinal-from-envvar="
)

// pod is the first pod of a workload, as far as a configuration can see it.
func (w *workload) pod() check.Pod {
	name := w.Metadata.Name + "-x7k2p"
	if w.Kind == "StatefulSet" {
		name = w.Metadata.Name + "-0"
	}
	out := check.Pod{Reloader: map[string]string{}, Agent: map[string]string{}}
	for _, c := range w.Spec.Template.Spec.Containers {
		switch c.Name {
		case reloader:
			out.Reloader = environment(c, name)
			maps.Copy(out.Reloader, ordinal(c, out.Reloader))
		case agent:
			out.Agent = environment(c, name)
			out.Args = c.Args
		}
	}
	return out
}

// environment is that of a container. What comes from a Secret or from the node has some
// value: that there is one is all that can be known.
func environment(c corev1.Container, pod string) map[string]string {
	env := map[string]string{"HOSTNAME": pod, "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			env[e.Name] = e.Value
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			env[e.Name] = pod
		case from.FieldRef != nil:
			env[e.Name] = strings.ReplaceAll(from.FieldRef.FieldPath, ".", "-")
		default:
			env[e.Name] = "from-a-secret"
		}
	}
	return env
}

var trailingNumber = regexp.MustCompile(`\d+$`)

// ordinal is the variable that the reloader sets for itself.
func ordinal(c corev1.Container, env map[string]string) map[string]string {
	for _, arg := range c.Args {
		if from, ok := strings.CutPrefix(arg, ordinalFlag); ok {
			return map[string]string{"STATEFULSET_ORDINAL_NUMBER": trailingNumber.FindString(env[from])}
		}
	}
	return nil
}
