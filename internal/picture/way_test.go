package picture_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator"
	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/internal/picture"
)

// TestExplanations draws a monitor with two writers and one that nothing selects.
func TestExplanations(t *testing.T) {
	const name = "testdata/explanations.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	parsed := manifest.Parse(manifest.File{Path: "in.yaml", Data: archive.Files[0].Data}, manifest.Options{})
	x := explain.New(generator.Render(manifest.NewSet(parsed), generator.Options{}, nil).Explained())
	ids, err := x.Resolve([]string{"servicemonitor"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var items []*explain.Explanation
	for _, id := range ids {
		e, _ := x.Explain(id)
		items = append(items, e)
	}
	var dot, svg strings.Builder
	if err := errors.Join(picture.ExplanationsDOT(&dot, items), picture.ExplanationsSVG(&svg, items)); err != nil {
		t.Fatal(err)
	}
	_, drawn, _ := strings.Cut(svg.String(), "</style>\n")
	for i, got := range []string{dot.String(), drawn} {
		if diff := cmp.Diff(string(archive.Files[i+1].Data), got); diff != "" && !*update {
			t.Errorf("(-want +got), run with -update to accept:\n%s", diff)
		}
		archive.Files[i+1].Data = []byte(got)
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(svg.String(), "<desc>ServiceMonitor/m/good, rendered, 1 job; "+
		"ServiceMonitor/m/missed, not selected</desc>") {
		t.Error(svg.String()[:500])
	}
}

// TestHostileExplanations: whatever the texts of an explanation, its picture is valid XML and has only the elements of
// the picture.
func TestHostileExplanations(t *testing.T) {
	for _, text := range []string{`"><script>alert(1)</script>`, "a\x00\x1b[31m\u202eb\x7f", "\xff\xfe ]]>&lt;",
		strings.Repeat("ß", 5000), strings.Repeat("ß ", 5000), ""} {
		of := explain.Object{Kind: "Probe", Namespace: text, Name: text}
		part := []explain.Part{{Text: text, Filters: true, From: &explain.Field{Path: text, File: text, Line: 1}}}
		e := &explain.Explanation{Object: of, State: explain.Held, Why: text,
			Misses: []explain.Miss{{By: of, Away: text}},
			Renders: []explain.Rendering{{Unit: text, Instance: text, Integrations: []string{text},
				Jobs: []explain.Job{{Name: text,
					Way: explain.Way{Discovery: part, Series: part, Limits: []string{text}}}},
				Writers: []explain.Writer{{URL: text, Secrets: []string{text}, Series: part}}}}}
		var svg, dot strings.Builder
		if err := errors.Join(picture.ExplanationsSVG(&svg, []*explain.Explanation{e}),
			picture.ExplanationsDOT(&dot, []*explain.Explanation{e})); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg.String())
			}
		}
		if strings.Contains(svg.String(), "<script") || strings.ContainsAny(svg.String(), "\x00\x1b\u202e\x7f") {
			t.Errorf("%q gives %s", text, svg.String())
		}
		if strings.ContainsAny(dot.String(), "\x00\x1b\u202e\x7f") {
			t.Errorf("%q gives %s", text, dot.String())
		}
		if lines := strings.Count(dot.String(), "\n"); lines != 17 {
			t.Errorf("%q gives %d lines: %s", text, lines, dot.String())
		}
	}
}
