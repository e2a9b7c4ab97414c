package integration

import (
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
)

// placement checks that an integration runs where it makes sense. It also runs in the wrong place, so this is a
// warning for an Integration. For a MetricsIntegration it is an error: RFC 1 says that its type must fit.
func (k *checker) placement(out *Checked) {
	severity, path := diag.Warning, "spec.type.allNodes"
	if k.in.Kind == MetricsIntegration {
		path = "spec.type"
	}
	switch {
	case k.typ.Placement == EveryNode && !k.in.AllNodes:
		hint := "set allNodes: true"
		if k.in.Kind == MetricsIntegration {
			severity, hint = diag.Error, "write daemonset"
		}
		k.report(severity, diag.IntegrationType, path, hint,
			"%s is about the node that it runs on: this way only one node is measured", k.typ.Name)
	case k.typ.Placement == Once && k.in.AllNodes && !out.local():
		hint := "set allNodes: false"
		if k.in.Kind == MetricsIntegration {
			hint = "write singleton or normal"
		}
		k.report(severity, diag.IntegrationType, path, hint,
			"%s asks something that is not the node: this way every node asks it, and all send the same series",
			k.typ.Name)
	}
}

// local reports whether an integration's server can be a different one on every node: a loopback address, or
// one that depends on a variable.
func (c *Checked) local() bool {
	if strings.HasPrefix(c.same, "$") {
		return true
	}
	for _, local := range []string{"localhost", "127.0.0.1", "[::1]", "/"} {
		if strings.Contains(c.Instance, "("+local) || strings.HasPrefix(c.Instance, local) ||
			strings.Contains(c.Instance, "//"+local) {
			return true
		}
	}
	return false
}
