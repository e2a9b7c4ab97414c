package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestAClashNamesFew holds that what many integrations have together does not take the square of their number.
func TestAClashNamesFew(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]string{
		2:  "same; the other one is Secret/a/s1 (x.yaml:3)",
		4:  "same; the others are Secret/a/s1 (x.yaml:3), Secret/a/s2 (x.yaml:5), Secret/a/s3 (x.yaml:7)",
		50: "same; the others are Secret/a/s1 (x.yaml:3), Secret/a/s2 (x.yaml:5), Secret/a/s3 (x.yaml:7) and 46 more",
	} {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, "{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: a}}\n---\n", i)
		}
		parsed := manifest.Parse(manifest.File{Path: "x.yaml", Data: []byte(text.String())}, manifest.Options{})
		c := clash{diag.Diagnostic{Message: "same"}, parsed.Objects}
		f := c.seenBy(parsed.Objects[0])
		if f.Message != want || len(f.Related) != min(count-1, maxNamed) {
			t.Errorf("%d of %d: %q, related to %v", count, len(parsed.Objects), f.Message, f.Related)
		}
	}
}
