package gitsync

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// renderOptions are what the pipeline says about rendering.
func (s *PipelineSpec) renderOptions() (generator.Options, error) {
	out := generator.Options{
		Secrets:               secretref.Policy(s.Secrets.Policy),
		RestartOnSecretChange: s.Secrets.RestartOnChange,
		OperatorLabels:        s.Operator.Labels,
		SDAggregator:          s.SDAggregator.settings(),
	}
	var err error
	if text := s.Operator.AgentSelector; text != "" {
		if out.AgentSelector, err = labels.Parse(text); err != nil {
			return out, fmt.Errorf("agentSelector: %w", err)
		}
	}
	if len(s.Integrations) > 0 {
		if out.Integrations, err = integration.Default().Extend(s.Integrations); err != nil {
			return out, fmt.Errorf("integrations: %w", err)
		}
	}
	return out, nil
}

// parseOptions are what the pipeline says about reading manifests.
func (s *PipelineSpec) parseOptions() manifest.Options {
	return manifest.Options{DefaultNamespace: s.DefaultNamespace, Compatibility: manifest.Compatibility(s.Compatibility)}
}

// integrations checks what is said of integrations: each entry by itself, so that its
// place is known, then all of them.
func (v *validator) integrations(path string, entries []integration.Entry) {
	before := len(v.found)
	catalogue := integration.Default()
	for i := range entries {
		extended, err := catalogue.Extend(entries[i : i+1])
		if err != nil {
			v.check(false, fmt.Sprintf("%s[%d]", path, i), "", "%s", strings.TrimPrefix(err.Error(), "integrations[0]: "))
			continue
		}
		catalogue = extended
	}
	if len(v.found) == before {
		_, err := integration.Default().Extend(entries)
		v.check(err == nil, path, "", "%v", err)
	}
}
