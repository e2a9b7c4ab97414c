package manifest_test

import (
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestAppliedDocumentsAreNotPassedThrough: what somebody else applies is read as before, and copied never.
func TestAppliedDocumentsAreNotPassedThrough(t *testing.T) {
	text := []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: m}\n---\napiVersion: v1\n" +
		"kind: ConfigMap\nmetadata: {name: a, namespace: m}\n")
	for _, applied := range []bool{false, true} {
		docs := []manifest.Built{{Text: text, Applied: applied},
			{Text: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: m}\n")}}
		r := manifest.ParseBuilt(manifest.File{Path: "root"}, docs,
			manifest.Options{PassThrough: "ConfigMap.,ServiceAccount."})
		var passed []string
		for _, o := range r.Objects {
			if o.Passed != nil {
				passed = append(passed, o.ID.String())
			}
		}
		if want := map[bool]int{false: 3, true: 1}[applied]; len(passed) != want || len(r.Diags) > 0 {
			t.Errorf("applied: %t, passed through: %v, found %v", applied, passed, r.Diags)
		}
	}
}

// TestUnknownFieldsThatArePassedThrough: where unknown fields are not errors, a copy has them.
func TestUnknownFieldsThatArePassedThrough(t *testing.T) {
	text := []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: m}\nspec: {prots: [1]}\n")
	r := manifest.Parse(manifest.File{Path: "a.yaml", Data: text},
		manifest.Options{PassThrough: "Service.", UnknownFields: manifest.IgnoreUnknownFields})
	if len(r.Diags) != 1 || !strings.HasSuffix(r.Diags[0].Message, "unknown field, it is passed through") ||
		r.Diags.HasErrors() {
		t.Errorf("found %v", r.Diags)
	}
	if len(r.Objects) != 1 || !strings.Contains(string(r.Objects[0].Passed), "prots:") {
		t.Errorf("objects: %+v", r.Objects)
	}
}
