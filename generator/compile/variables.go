package compile

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentry-dev/agentry/generator/api/v1alpha1"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/model"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Some texts are expanded: the config reloader replaces $(NAME) in them, and then the agent replaces ${NAME},
// which can have a shell's operators.

// The containers whose environment variables are used.
const (
	reloader       = "config-reloader"
	agentContainer = "grafana-agent"
)

// variable is a reference to an environment variable of a container.
type variable struct{ text, name, container string }

// variables returns the references in a text that need a variable. It returns false for an unfinished ${, for
// which the agent refuses the whole file.
func variables(text string) (out []variable, ok bool) {
	refs, ok := expand.References(text)
	for _, r := range refs {
		switch {
		case r.Reloader:
			out = append(out, variable{r.Text, r.Name, reloader})
		case !r.Optional:
			out = append(out, variable{r.Text, r.Name, agentContainer})
		}
	}
	return out, ok
}

// environment knows the environment variables of some pods.
type environment struct {
	agent *manifest.Object
	pods  secretref.Group
}

func (e environment) containers() []corev1.Container {
	return manifest.As[v1alpha1.GrafanaAgent](e.agent).Spec.Containers
}

// undefined reports references in a text to undefined variables: as an error where the config reloader would
// refuse every configuration, as a warning where the agent inserts an empty text.
func (e environment) undefined(path, text string) (out diag.List) {
	if !strings.Contains(text, "$") {
		return nil
	}
	found, _ := variables(text)
	for _, v := range found {
		if !e.defines(v) {
			out = append(out, diag.EnvReference.At(path, "%s", v.name+" is not defined: "+v.consequence()).
				As(v.severity()).WithHint(v.hint()).With(e.agent.Ref()))
		}
	}
	return out
}

// severity returns the severity of a reference to an undefined variable.
func (v variable) severity() diag.Severity {
	if v.container == reloader {
		return diag.Error
	}
	return diag.Warning
}

// defines reports whether the container has the variable, as far as this can be known.
func (e environment) defines(v variable) bool {
	switch v.name {
	case "POD_NAME", "AGENT_DEPLOY_MODE", "SHARD", "HOSTNAME":
		return true
	case "SHARDS": // the operator does not set it in logs pods
		if e.pods != secretref.Logs {
			return true
		}
	case "STATEFULSET_ORDINAL_NUMBER":
		return v.container == reloader
	}
	if strings.HasPrefix(v.name, "KUBERNETES_") {
		return true // set by the kubelet
	}
	containers := e.containers()
	for i := range containers {
		c := &containers[i]
		if c.Name != v.container {
			continue
		}
		if len(c.EnvFrom) > 0 {
			return true // may be in there
		}
		for n := range c.Env {
			if c.Env[n].Name == v.name {
				return true
			}
		}
	}
	return false
}

// consequence describes the effect of a reference to an undefined variable.
func (v variable) consequence() string {
	if v.container == reloader {
		return "the config reloader would refuse every new configuration"
	}
	return "an empty text takes its place"
}

// hint returns the hint for a reference to an undefined variable.
func (v variable) hint() string {
	hint := "add it to spec.containers[" + v.container + "].env of the GrafanaAgent"
	if v.container == agentContainer {
		hint += ", or write the value if Flux should replace it"
	}
	return hint
}

// check reports wrong references in a text in which variables are expanded.
func (e environment) check(path, text string) diag.List {
	out := e.undefined(path, text)
	if _, ok := variables(text); !ok {
		out = append(out, diag.EnvReference.At(path, "an unfinished ${: the whole configuration would be refused").
			WithHint("write $${ for a literal ${"))
	}
	return out
}

// expanded returns a configuration with undefined variables replaced by empty text. A field that rendered shows
// without quotes becomes absent if nothing else is in it.
func (e environment) expanded(v any, rendered model.Value) any {
	switch v := v.(type) {
	case map[string]any:
		m, _ := rendered.(model.Map)
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = e.expanded(v[k], m.Get(k))
		}
		return out
	case []any:
		l, _ := rendered.(model.List)
		out := make([]any, len(v))
		for i := range v {
			var item model.Value
			if len(l) == len(v) { // no null was dropped
				item = l[i]
			}
			out[i] = e.expanded(v[i], item)
		}
		return out
	case string:
		text := e.withoutUndefined(v)
		if _, plain := rendered.(model.Variable); plain && strings.TrimSpace(text) == "" {
			return nil
		}
		return text
	}
	return v
}

func (e environment) withoutUndefined(text string) string {
	found, _ := variables(text)
	for _, v := range found {
		if v.container == agentContainer && !e.defines(v) {
			text = strings.ReplaceAll(text, v.text, "")
		}
	}
	return text
}
