package gitsync

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/compile/integration"
	"github.com/agentry-dev/agentry/generator/compile/scrape"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

// Render renders files as a pipeline says, without Git and without the network. The pipeline must be valid and have its
// defaults: see [pipeline.Pipeline.Read]. Of its sources and its output nothing is used: kustomizations and charts are
// not built, nothing has a last good version, and values that a pass would encrypt are in clear. What is wrong with the
// files is in the diagnostics of the output; an error is about the pipeline.
func Render(p *pipeline.Pipeline, files ...manifest.File) (*generator.Output, error) {
	options, err := RenderOptions(p)
	if err != nil {
		return nil, err
	}
	var results []manifest.Result
	var found diag.List
	for _, f := range files {
		r := manifest.Parse(f, p.Spec.ParseOptions())
		results, found = append(results, r), append(found, r.Diags...)
	}
	out := generator.Render(manifest.NewSet(results...), options, nil)
	out.Diags = append(found, out.Diags...)
	out.Diags.Sort()
	return out, nil
}

// RenderOptions are what a pipeline says about rendering.
func RenderOptions(p *pipeline.Pipeline) (generator.Options, error) {
	s := &p.Spec
	out := generator.Options{
		Compatibility:         s.Compatibility,
		Secrets:               rendered(s.Secrets.Policy),
		Encrypted:             s.Secrets.Seals(),
		SecretRules:           secretRules(s.Secrets.Rules),
		Mirror:                s.Secrets.Mirror,
		RenderRights:          s.RBAC == pipeline.RBACRender,
		SelfMonitoring:        s.SelfMonitoring,
		RestartOnSecretChange: s.Secrets.RestartOnChange,
		OperatorLabels:        s.Operator.Labels,
		SDAggregator:          sdAggregator(&s.SDAggregator),
		Ignore:                s.Ignore,
	}
	if s.Tenancy != nil {
		out.Tenancy = s.Tenancy.Rules
	}
	changes, wrong := p.Changes()
	if len(wrong) > 0 {
		return out, &wrong[0]
	}
	out.Changes = changes
	var err error
	out.Runtimes, err = generator.RuntimesAt(string(s.Runtime), s.RuntimeVersion,
		s.Sharding == pipeline.ShardingClustering)
	if err != nil {
		return out, fmt.Errorf("runtimeVersion: %w", err)
	}
	out.Runtimes.Allowed = s.Runtimes.Names()
	if text := s.Operator.AgentSelector; text != "" {
		if out.AgentSelector, err = labels.Parse(text); err != nil {
			return out, fmt.Errorf("agentSelector: %w", err)
		}
	}
	if len(s.Integrations) > 0 {
		extended, wrong := integration.Default().Extend(s.Integrations)
		if wrong != nil {
			return out, wrong
		}
		out.Integrations = extended
	}
	return out, nil
}

// rendered returns the policy for the renderer: Secrets that are encrypted later are rendered in clear.
func rendered(policy secretref.Policy) secretref.Policy {
	if policy == secretref.SOPS {
		return secretref.Plaintext
	}
	return policy
}

func secretRules(rules []pipeline.SecretRule) (out []secretref.Rule) {
	for _, r := range rules {
		out = append(out, secretref.Rule{Namespaces: r.Match.Namespaces, Names: r.Match.Names, Types: r.Match.Types,
			Policy: rendered(r.Policy)})
	}
	return out
}

// sdAggregator returns the renderer's settings for the sd-aggregator.
func sdAggregator(a *pipeline.SDAggregator) scrape.SDAggregator {
	out := scrape.SDAggregator{URL: a.URL, TLS: a.TLSConfig, Authorization: a.Authorization}
	if a.RefreshInterval != nil {
		out.RefreshInterval = a.RefreshInterval.Duration
	}
	return out
}
