package manifest_test

import (
	"testing"

	"github.com/agentry-dev/agentry/generator/manifest"
)

// TestText reads objects again from what they say that they were written as.
func TestText(t *testing.T) {
	t.Parallel()
	const monitor = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a, namespace: x}\n" +
		"spec: {selector: {}, endpoints: [{port: \"<&>\"}]}\n"
	for name, text := range map[string]string{
		"a document":             monitor,
		"a document among many":  "# comment\n---\n" + monitor + "---\n{}\n",
		"after a marker":         "--- # comment\n" + monitor + "...\n",
		"with a directive":       "%YAML 1.1\n---\n" + monitor,
		"with other line breaks": "apiVersion: v1\r\nkind: Namespace\r\nmetadata:\r\n  name: a\r\n",
		"JSON behind JSON":       `{"a": 1} {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`,
		"one of a List": "apiVersion: v1\nkind: List\nitems:\n- {}\n" +
			"- {apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {a: \"1\"}}, status: {phase: Active}}\n",
		"one of a typed list": "apiVersion: v1\nkind: NamespaceList\nitems:\n- metadata: {name: a}\n",
		"one of a list of lists": "apiVersion: v1\nkind: List\nitems:\n" +
			"- {apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: b}}, {metadata: {name: a}}]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			opts := manifest.Options{DefaultNamespace: "default"}
			objects := manifest.Parse(manifest.File{Path: "a.yaml", Data: []byte(text)}, opts).Objects
			if len(objects) == 0 {
				t.Fatal("no objects")
			}
			for _, o := range objects {
				again := manifest.Parse(manifest.File{Path: "b.yaml", Data: []byte(o.Text())}, opts).Objects
				if len(again) != 1 || again[0].ID != o.ID || again[0].Digest != o.Digest {
					t.Errorf("%s gives %v", o.Text(), again)
				}
			}
		})
	}
}
