package generator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/secretref"
)

// TestNearlyFullSecrets: the largest contributors of a Secret that is nearly 1 MiB are named, and what helps.
func TestNearlyFullSecrets(t *testing.T) {
	inputs := func(kilobytes int) string {
		return faultyAgent + faultyMonitor("one", withToken("s")) + faultyMonitor("two", withToken("t")) +
			faultySecret("s", incompressible(kilobytes<<10)) + faultySecret("t", incompressible(100<<10))
	}
	for kilobytes, want := range map[int]diag.Severity{600: "", 800: diag.Warning, 950: diag.Error} {
		out := generator.Render(readText(inputs(kilobytes)), generator.Options{Secrets: secretref.Plaintext}, nil)
		i := slices.IndexFunc(out.Diags, func(d diag.Diagnostic) bool { return d.Code == diag.ObjectTooLarge })
		switch {
		case want == "" && i >= 0:
			t.Errorf("%d KiB: %v", kilobytes, out.Diags[i])
		case want == "":
		case i < 0 || out.Diags[i].Severity != want:
			t.Errorf("%d KiB: want %s, got %v", kilobytes, want, out.Diags)
		case !strings.Contains(out.Diags[i].Message, "the largest parts are Secret/m/s (") ||
			!strings.Contains(out.Diags[i].Hint, "More shards do not help"):
			t.Errorf("%d KiB: %s; %s", kilobytes, out.Diags[i].Message, out.Diags[i].Hint)
		}
	}
}
