package pipeline

import (
	"fmt"
	"strings"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// ParseOptions returns the options for reading manifests.
func (s *Spec) ParseOptions() manifest.Options {
	return manifest.Options{DefaultNamespace: s.DefaultNamespace, Compatibility: manifest.Compatibility(s.Compatibility)}
}

// validateIntegrations checks the entries of the catalogue: each one alone, so that its path is known, and then
// all together.
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
