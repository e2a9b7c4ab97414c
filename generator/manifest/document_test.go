package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/agentry-dev/agentry/generator/manifest/internal/stream"
)

// TestPlacesAreThoseOfTheWholeDocument: where an object or a field is does not depend on how it was found.
func TestPlacesAreThoseOfTheWholeDocument(t *testing.T) {
	var files [][]byte
	for _, data := range corpusFiles(t) {
		files = append(files, data)
	}
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			files = append(files, f.Data)
		}
	}
	for _, data := range slices.Clone(files) { // each document in Lists of both styles
		for d := range stream.Documents(data) {
			list := "# é\nkind: List\napiVersion: v1\nitems:\n\n- " +
				strings.ReplaceAll(string(d.Text), "\n", "\n  ") + "\n- {}\n"
			files = append(files, []byte(list))
			if asJSON, err := yaml.YAMLToJSON([]byte(list)); err == nil {
				files = append(files, asJSON)
			}
		}
	}
	files = append(files, []byte("kind: List\napiVersion: v1\nitems:\n"+
		"- &a {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- *a\n-\n  # b\n"+
		"  apiVersion: v1\n  kind: Namespace\n  metadata: {name: a, labels: {a: &b x, b: *b}}\n"))
	for _, start := range []string{"\n  # é\n", "# a\r  ", "{}\n---\n", "--- ", "--- # a\n", "%YAML 1.1\n---\n",
		"\t\n"} {
		files = append(files, []byte(start+"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"))
	}
	cut, plain, all := 0, 0, 0
	for _, data := range files {
		result := Parse(File{Data: data}, Options{DefaultNamespace: "x"})
		for _, o := range slices.Concat(result.Objects, result.LeftOut) {
			all++
			at := o.place()
			if at.item != nil {
				cut++
			}
			if _, _, known := at.begin(); known {
				plain++
			}
			for _, path := range []string{"", "kind", "metadata.name", "spec", "spec.endpoints[0]", "data", "none"} {
				_, node, found := place{document: at.document, prefix: at.prefix}.find("")
				if !found {
					t.Fatalf("%s is not in\n%s", o.ID, data)
				}
				line, column := at.document.inFile(PositionIn(at.text, node, path))
				if gotLine, gotColumn := o.Position(path); gotLine != line || gotColumn != column {
					t.Errorf("%q of %s: %d:%d, want %d:%d in\n%s", path, o.ID, gotLine, gotColumn, line, column, data)
				}
			}
		}
	}
	t.Logf("%d of %d objects were cut out, and %d begin where it takes no parser to see", cut, all, plain)
	if cut < all/4 || plain < all/2 {
		t.Error("too few objects are found without a look at the whole document")
	}
}

// TestItemsDefineThemselves: the text of an item gives the same object alone.
func TestItemsDefineThemselves(t *testing.T) {
	const typed = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitorList\nitems:\n" +
		"- metadata: {name: a, namespace: x}\n  spec: &s {selector: {}, endpoints: [{port: web}]}\n" +
		"- metadata: {name: b, namespace: x}\n  spec: %s\n"
	for _, spec := range []string{"*s", "{selector: {}, endpoints: []}"} {
		text := fmt.Sprintf(typed, spec)
		if spec != "*s" {
			text = strings.ReplaceAll(text, "&s ", "")
		}
		result := Parse(File{Data: []byte(text)}, Options{})
		if len(result.Objects) != 2 {
			t.Fatal(result.Diags)
		}
		for _, o := range result.Objects {
			again := Parse(File{Data: []byte(o.Text())}, Options{})
			if len(again.Objects) != 1 || again.Objects[0].ID != o.ID || again.Objects[0].Digest != o.Digest {
				t.Errorf("%s of\n%s", o.Text(), text)
			}
		}
	}
}
