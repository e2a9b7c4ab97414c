package pipeline

import (
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs"
)

// RenderCommand returns the command that renders the manifests in a checkout of a source, except for the fields in
// [Spec.NotInRenderCommand]. If Secrets are encrypted, the command reads the pipeline file: no flag names the
// recipients.
func (s *Spec) RenderCommand(source int) string {
	if s.Secrets.Seals() {
		return "agentry render -f PIPELINE -o OUT"
	}
	args := []string{"agentry render", "--compatibility", string(s.Mode()), "--secrets", string(s.Secrets.Policy)}
	args = append(args, s.programArgs()...)
	if s.Secrets.RestartOnChange {
		args = append(args, "--secrets-restart-on-change")
	}
	if s.UnknownFields == manifest.IgnoreUnknownFields {
		args = append(args, "--unknown-fields", string(s.UnknownFields))
	}
	if kinds := s.ParseOptions().PassThrough.Names(); len(kinds) > 0 {
		args = append(args, "--pass-through", strings.Join(kinds, ","))
	}
	if s.DefaultNamespace != "" {
		args = append(args, "--namespace", s.DefaultNamespace)
	}
	if s.NamespaceFrom != "" {
		args = append(args, "--namespace-from", quote(s.NamespaceFrom))
	}
	if s.Cluster.Name != "" {
		args = append(args, "--cluster", quote(s.Cluster.Name))
	}
	if s.Cluster.Version != "" {
		args = append(args, "--kube-version", s.Cluster.Version)
	}
	if len(s.Cluster.APIVersions) > 0 {
		args = append(args, "--api-versions", strings.Join(s.Cluster.APIVersions, ","))
	}
	var pairs []string
	for k, v := range s.Operator.Labels {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	if len(pairs) > 0 {
		args = append(args, "--operator-labels", strings.Join(pairs, ","))
	}
	if s.Operator.AgentSelector != "" {
		args = append(args, "--agent-selector", quote(s.Operator.AgentSelector))
	}
	if s.SDAggregator.URL != scrape.DefaultSDURL {
		args = append(args, "--sd-aggregator-url", quote(s.SDAggregator.URL))
	}
	args = append(args, "-o", "OUT")
	if build := s.Sources[source].Build; build != "" && build != inputs.Auto {
		args = append(args, "--build", string(build))
	}
	for _, path := range s.Sources[source].Paths {
		args = append(args, quote(path))
	}
	return strings.Join(args, " ")
}

// programArgs returns the flags that say what pods run.
func (s *Spec) programArgs() (args []string) {
	if s.Runtime != RuntimeAgent {
		args = append(args, "--runtime", string(s.Runtime))
	}
	if s.RuntimeVersion != "" {
		args = append(args, "--runtime-version", s.RuntimeVersion)
	}
	if s.Sharding == ShardingClustering {
		args = append(args, "--sharding", string(s.Sharding))
	}
	return args
}

// NotInRenderCommand returns the fields that are set and change the manifests, but have no flag.
func (s *Spec) NotInRenderCommand() []string {
	var out []string
	for _, f := range []struct {
		name  string
		isSet bool
	}{
		{"runtimes", len(s.Runtimes.Allowed) > 0},
		{"namespaces", len(s.Namespaces) > 0},
		{"secrets.rules", len(s.Secrets.Rules) > 0},
		{"secrets.mirror", s.Secrets.Mirror != nil},
		{"tenancy", s.Tenancy != nil},
		{"sources[].tenant", slices.ContainsFunc(s.Sources, func(src Source) bool { return src.Tenant != "" })},
		{"integrations", len(s.Integrations) > 0},
		{"workloads", len(s.Workloads) > 0},
		{"patches", len(s.Patches) > 0},
		{"images", len(s.Images) > 0},
		{"rbac", s.RBAC == RBACRender},
		{"selfMonitoring", s.SelfMonitoring != nil},
	} {
		if f.isSet {
			out = append(out, "`"+f.name+"`")
		}
	}
	return out
}

// quote makes a shell word of a text.
func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~=%") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
