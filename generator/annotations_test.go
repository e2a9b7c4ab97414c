package generator

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/generator/runtimes"
)

// TestAnnotationsHaveOneName: what is read is what no warning is about.
func TestAnnotationsHaveOneName(t *testing.T) {
	if runtimes.Annotation != manifest.RuntimeAnnotation {
		t.Errorf("%s and %s", runtimes.Annotation, manifest.RuntimeAnnotation)
	}
}
