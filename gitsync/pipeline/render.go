package pipeline

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// ParseOptions are what the pipeline says about reading manifests.
func (s *Spec) ParseOptions() manifest.Options {
	return manifest.Options{DefaultNamespace: s.DefaultNamespace, Compatibility: manifest.Compatibility(s.Compatibility)}
}

// validateIntegrations checks what is said of integrations: each entry by itself, so that its
// place is known, then all of them.
func validateIntegrations(path string, entries []integration.Entry) findings {
	var f findings
	catalogue := integration.Default()
	for i := range entries {
		extended, err := catalogue.Extend(entries[i : i+1])
		if err != nil {
			f.check(false, fmt.Sprintf("%s[%d]", path, i), "", "%s", strings.TrimPrefix(err.Error(), "integrations[0]: "))
			continue
		}
		catalogue = extended
	}
	if len(f) == 0 {
		_, err := integration.Default().Extend(entries)
		f.check(err == nil, path, "", "%v", err)
	}
	return f
}
