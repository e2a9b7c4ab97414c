package build

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/internal/expand"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// Some text stays live: the config reloader replaces $(NAME) in it, and then the agent
// ${NAME}, with the operators of a shell.

// The containers whose environment counts.
const (
	reloader       = "config-reloader"
	agentContainer = "grafana-agent"
)

// variable is a reference to an environment variable of a container.
type variable struct{ text, name, container string }

// variables lists the references in a text that must be answered by the environment. It
// returns false when the agent would refuse the whole file for an unfinished ${.
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

// undefined finds references in a live text that nothing answers: an error where the config
// reloader would refuse every configuration, a warning where the agent puts in nothing.
func (b *builder) undefined(path, text string) (out []diag.Finding) {
	if !strings.Contains(text, "$") {
		return nil
	}
	found, _ := variables(text)
	for _, v := range found {
		if !b.podDefines(v) {
			out = append(out, diag.Finding{Severity: v.severity(), Code: diag.EnvReference, Path: path,
				Message: v.text + " is not a variable that the pods define", Hint: v.hint(), Related: []diag.Object{b.hierarchy.Agent.Ref()}})
		}
	}
	return out
}

// severity is that of a reference that nothing answers.
func (v variable) severity() diag.Severity {
	if v.container == reloader {
		return diag.Error
	}
	return diag.Warning
}

// podDefines reports whether the environment of a container has the variable, as far as
// can be known.
func (b *builder) podDefines(v variable) bool {
	switch v.name {
	case "POD_NAME", "AGENT_DEPLOY_MODE", "SHARD", "HOSTNAME":
		return true
	case "SHARDS": // the operator forgot the logs pods
		if b.pods != secretref.Logs {
			return true
		}
	case "STATEFULSET_ORDINAL_NUMBER":
		return v.container == reloader
	}
	if strings.HasPrefix(v.name, "KUBERNETES_") {
		return true // the kubelet's
	}
	for i := range b.spec.Containers {
		c := &b.spec.Containers[i]
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

// hint is what to do for a reference that nothing answers.
func (v variable) hint() string {
	if v.container == reloader {
		return "with an undefined $(NAME) the config reloader refuses every new configuration; define it by spec.containers for the container " + reloader
	}
	return "an undefined ${NAME} becomes empty; define it by spec.containers for the container " + agentContainer
}
