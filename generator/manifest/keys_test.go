package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestLongKeysOfSecretsAreNotShown: they may be lines of a file that a generator took for variables.
func TestLongKeysOfSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("MIIEvQIBADANBg+/", 4)
	for kind, isShown := range map[string]bool{"ConfigMap": true, "Secret": false} {
		text := "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: a, namespace: b}\ndata: {" + line +
			": '', last==: ''}\n"
		found := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(text)}, manifest.Options{}).Diags
		if all := fmt.Sprint(found); len(found) == 0 || strings.Contains(all, line) != isShown ||
			strings.Contains(all, "last==") != isShown {
			t.Errorf("%s: %s", kind, all)
		}
	}
}
