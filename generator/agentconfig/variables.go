package agentconfig

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/agentyaml"
)

// Some text stays live: the config reloader replaces $(NAME) in it, and then the agent
// ${NAME}, with the operators of a shell.

// The containers whose environment counts.
const (
	reloader = "config-reloader"
	agent    = "grafana-agent"
)

// variable is a reference to an environment variable of a container.
type variable struct{ text, name, container string }

// variables lists the references in a text that must be answered by the environment. It
// returns false when the agent would refuse the whole file for an unfinished ${.
func variables(text string) (out []variable, ok bool) {
	for i := range len(text) {
		if text[i] != '$' {
			continue
		}
		if name := agentyaml.Variable(text[i+1:]); name != "" {
			out = append(out, variable{"$(" + name + ")", name, reloader})
		}
	}
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		if text[i+1] == '$' { // an escaped dollar
			i++
			continue
		}
		if text[i+1] != '{' {
			continue
		}
		name, after := identifier(strings.TrimPrefix(text[i+2:], "#"))
		switch {
		case name == "" || after == "" || !strings.ContainsRune("}:=,^/#%", rune(after[0])) || !strings.Contains(after, "}"):
			return out, false
		case strings.Trim(name, "0123456789") == "": // a group of a regular expression
		case after[0] != ':' && after[0] != '=': // these give a default
			out = append(out, variable{"${" + name + "}", name, agent})
		}
	}
	return out, true
}

func identifier(s string) (name, rest string) {
	i := 0
	for i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i] >= 'A' && s[i] <= 'Z' || s[i] >= 'a' && s[i] <= 'z') {
		i++
	}
	return s[:i], s[i:]
}

// podDefines reports whether the environment of a container has the variable, as far as
// can be known.
func (b *builder) podDefines(v variable) bool {
	switch v.name {
	case "POD_NAME", "AGENT_DEPLOY_MODE", "SHARD", "SHARDS", "HOSTNAME":
		return true
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
	return "an undefined ${NAME} becomes empty; define it by spec.containers for the container " + agent
}
