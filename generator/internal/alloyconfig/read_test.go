package alloyconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/runtimes/alloy/syntax"
)

// TestBlocksLosesNothing reads and prints the configurations of every fixture.
func TestBlocksLosesNothing(t *testing.T) {
	texts := rendered(t)
	if len(texts) < 8 {
		t.Errorf("only %d configurations were found", len(texts))
	}
	for _, text := range texts {
		blocks, err := alloyconfig.Blocks(text)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		var again []byte
		for _, b := range blocks {
			if printed := written(b, 0); len(again) > 0 {
				again = syntax.Append(append(again, '\n'), &printed)
			} else {
				again = syntax.Append(again, &printed)
			}
		}
		if got := string(again); got != text {
			t.Errorf("written again:\n%s", cmp.Diff(text, got))
		}
	}
}

// written returns a block for the printer. Lines of a value are relative to its attribute.
func written(b *alloyconfig.Block, level int) syntax.Block {
	out := syntax.Block{Name: b.Name, Label: b.Label}
	for _, a := range b.Attrs {
		if !strings.HasPrefix(a.Value, "`") {
			a.Value = strings.ReplaceAll(a.Value, "\n"+strings.Repeat("\t", level+1), "\n")
		}
		out.Set(a.Name, syntax.Expr(a.Value))
	}
	for _, inner := range b.Blocks {
		out.Add(written(inner, level+1))
	}
	return out
}

// rendered returns the configurations in the fixtures of the generator.
func rendered(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range strings.Split(string(data), "\n  config.alloy: |\n")[1:] {
			text := ""
			for line := range strings.Lines(rest) {
				inner, isInner := strings.CutPrefix(line, "    ")
				if !isInner && line != "\n" {
					break
				}
				text += strings.TrimPrefix(inner, "    ")
			}
			out = append(out, strings.TrimRight(text, "\n")+"\n")
		}
	}
	return out
}

func TestBlocksOfWrongTexts(t *testing.T) {
	for text, want := range map[string]string{
		"a {":                       "line 1: a block is not closed",
		"a {\n\tb = 1\n":            "line 3: a block is not closed",
		"a = 1":                     "line 1: attribute a is outside of a block",
		"\n}":                       `line 2: '}' begins neither an attribute nor a block`,
		"a \"b {}":                  "line 1: the label of a is not closed",
		"a {\n\tb = \"c\n}":         "line 2: a string is not closed",
		"a b {}":                    "line 1: a is not followed by = or {",
		strings.Repeat("a {", 1000): "line 1: blocks are nested more than 100 deep",
		"a { b = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) +
			"}": "line 1: brackets are nested more than 100 deep",
	} {
		if _, err := alloyconfig.Blocks(text); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
		if got, err := alloyconfig.Components(text); err == nil {
			t.Errorf("%.20q is read as %v", text, got)
		}
	}
}

// TestComponents reads attributes and blocks as values.
func TestComponents(t *testing.T) {
	text := `// by hand
logging { level = "info" }
prometheus.remote_write "m__i" {
	external_labels = {"cluster" = "x", "of" = sys.env("ZONE") + "-" }
	endpoint { url = "https://x.example.com" }
}
prometheus.scrape "m__i" {
	targets    = array.concat(discovery.relabel.a.output, [{"__address__" = "a:1"}])
	forward_to = [prometheus.remote_write.m__i.receiver]
	honor_labels = true
	sample_limit = 10
}
loki.process "p" {
	stage.cri { }
	stage.match {
		selector = "{a=\"b\"}"
		stage.drop { expression = "x" }
	}
}
local.file "unused" { filename = ` + "`a\nb`" + ` }
`
	type object = map[string]any
	want := []any{
		object{"component": "logging", "level": "info"},
		object{"component": "prometheus.remote_write.m__i",
			"external_labels": object{"cluster": "x", "of": `sys.env("ZONE") + "-"`},
			"endpoint":        []any{object{"url": "https://x.example.com"}}},
		object{"component": "prometheus.scrape.m__i", "forward_to": []any{"prometheus.remote_write.m__i.receiver"},
			"honor_labels": true,
			"sample_limit": 10, "targets": []any{"discovery.relabel.a.output", []any{object{"__address__": "a:1"}}}},
		object{"component": "loki.process.p", "stages": []any{
			object{"cri": object{}},
			object{"match": object{"selector": `{a="b"}`, "stages": []any{object{"drop": object{"expression": "x"}}}}},
		}},
		object{"component": "local.file.unused", "filename": "a\nb"},
	}
	got, err := alloyconfig.Components(text)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	if ids := alloyconfig.Targets(got[2].(object)["targets"]); !slices.Equal(ids, []string{"discovery.relabel.a"}) {
		t.Error(ids)
	}
}
