package picture_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestPicture draws a hierarchy with an object in each state.
func TestPicture(t *testing.T) {
	const name = "testdata/states.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	roots := tree(string(archive.Files[0].Data))
	var dot, svg strings.Builder
	if err := errors.Join(picture.DOT(&dot, roots, nil), picture.SVG(&svg, "Hierarchy", roots, link, false)); err !=
		nil {
		t.Fatal(err)
	}
	for i, got := range []string{dot.String(), svg.String()} {
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
}

func link(o explain.Object) string { return "/explain?object=" + o.ID().String() + "&x" }

// tree returns the hierarchies of some manifests.
func tree(text string) []*explain.Node {
	parsed := manifest.Parse(manifest.File{Path: "in.yaml", Data: []byte(text)}, manifest.Options{})
	return explain.New(generator.Render(manifest.NewSet(parsed), generator.Options{}, nil).Explained()).Tree()
}

// TestManyChildrenAreFolded: objects that are not rendered are always drawn, and every object is counted.
func TestManyChildrenAreFolded(t *testing.T) {
	agent := &explain.Node{Object: explain.Object{Kind: "GrafanaAgent", Namespace: "m", Name: "agent"},
		State: explain.Rendered}
	for i := range 5000 {
		n := &explain.Node{Object: explain.Object{Kind: "Probe", Namespace: "m", Name: fmt.Sprint("p", i)},
			State: explain.Rendered}
		if i == 4321 {
			n.State = explain.Held
		}
		agent.Children = append(agent.Children, n)
	}
	svg := draw(t, agent)
	for _, want := range []string{"m/p0<", "m/p27<", "m/p4321<", "4971 Probes", "5000 Probes"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not drawn", want)
		}
	}
	if n := strings.Count(svg, `class="node`); n != 31 || strings.Contains(svg, "m/p28<") {
		t.Errorf("%d nodes are drawn", n)
	}
	agent.Children = agent.Children[:30]
	if svg := draw(t, agent); strings.Contains(svg, `class="node folded`) || strings.Count(svg, `class="node`) != 31 {
		t.Error("30 children are folded")
	}
}

// TestThousandsOfNodes: the size of a picture is limited, however many agents and instances there are.
func TestThousandsOfNodes(t *testing.T) {
	var roots []*explain.Node
	node := func(kind string, i int) *explain.Node {
		return &explain.Node{Object: explain.Object{Kind: kind, Namespace: "m", Name: fmt.Sprint(kind, i)},
			State: explain.Rendered}
	}
	for i := range 100 {
		agent := node("GrafanaAgent", i)
		for j := range 100 {
			instance := node("MetricsInstance", j)
			for k := range 100 {
				instance.Children = append(instance.Children, node("Probe", k))
			}
			agent.Children = append(agent.Children, instance)
		}
		roots = append(roots, agent)
	}
	var b strings.Builder
	if err := picture.SVG(&b, "all", roots, nil, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `class="node`); n < 20 || n > 1000 {
		t.Errorf("%d nodes are drawn", n)
	}
}

// TestCountsAreNotCut: a box is as wide as its counts need, and a note is cut before they are.
func TestCountsAreNotCut(t *testing.T) {
	n := &explain.Node{Object: explain.Object{Kind: "MetricsInstance", Namespace: "m", Name: "main"},
		State: explain.NotRendered, Why: strings.Repeat("it cannot be rendered ", 10)}
	for i, kind := range []string{"ServiceMonitor", "PodMonitor", "Probe", "Probe"} {
		n.Children = append(n.Children, &explain.Node{Object: explain.Object{Kind: kind, Namespace: "m",
			Name: fmt.Sprint(i)}, State: explain.Rendered})
	}
	svg := draw(t, n)
	if !strings.Contains(svg, ">MetricsInstance · 1 ServiceMonitor, 1 PodMonitor, 2 Probes · it ") {
		t.Errorf("the counts are cut: %s", svg)
	}
}

// TestHostileTexts: whatever the names and messages, an SVG is valid XML, and has only the elements of the picture.
func TestHostileTexts(t *testing.T) {
	for _, text := range []string{`"><script>alert(1)</script>`, "a\x00\x1b[31m\u202e\u200fb\x7f", "\xff\xfe", "]]>&lt;",
		strings.Repeat("ß", 500)} {
		n := &explain.Node{Object: explain.Object{Kind: "Probe", Namespace: text, Name: text}, State: explain.Held,
			Why: text}
		svg := draw(t, n)
		if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x00\x1b\u202e\u200f\x7f") {
			t.Errorf("%q gives %s", text, svg)
		}
		var dot strings.Builder
		if err := picture.DOT(&dot, []*explain.Node{n}, nil); err != nil || strings.Count(dot.String(), "\n") != 4 ||
			strings.ContainsAny(dot.String(), "\x00\x1b\u202e\u200f\x7f") {
			t.Errorf("%q gives %s, %v", text, dot.String(), err)
		}
	}
}

// draw draws a tree, and fails if the result is not XML.
func draw(t *testing.T, n *explain.Node) string {
	t.Helper()
	var b strings.Builder
	if err := picture.SVG(&b, "<&>", []*explain.Node{n}, link, true); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return b.String()
		} else if err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
	}
}
