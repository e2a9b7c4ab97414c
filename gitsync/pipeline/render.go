package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/build/integration"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// ParseOptions returns the options for reading manifests.
func (s *Spec) ParseOptions() manifest.Options {
	return manifest.Options{
		DefaultNamespace: s.DefaultNamespace,
		NamespaceFrom:    s.NamespaceFrom,
		Compatibility:    manifest.Compatibility(s.Compatibility),
		UnknownFields:    manifest.UnknownFields(s.UnknownFields),
	}
}

// Refusal returns the first finding for which no commit is made, or nil.
func (s *Spec) Refusal(found diag.List) *diag.Diagnostic {
	if s.OnInvalid != OnInvalidFail {
		return nil
	}
	for _, severity := range []diag.Severity{diag.Error, diag.Warning} {
		i := slices.IndexFunc(found, func(d diag.Diagnostic) bool { return d.Severity == severity })
		if i >= 0 && (severity == diag.Error || s.FailOn == FailOnWarning) {
			return &found[i]
		}
	}
	return nil
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
