package alloyconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/internal/alloyconfig"
	"github.com/agentry-dev/agentry/generator/runtime/alloy/syntax"
)

// TestBlocksLosesNothing reads the configurations of every fixture, and writes them again.
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

// written is a block as it is printed. Lines of a value are relative to its attribute.
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
		"a {":                       "line 1: a block has no end",
		"a {\n\tb = 1\n":            "line 3: a block has no end",
		"a = 1":                     "line 1: attribute a is in no block",
		"\n}":                       `line 2: '}' begins neither an attribute nor a block`,
		"a \"b {}":                  "line 1: the label of a has no end",
		"a {\n\tb = \"c\n}":         "line 2: a text has no end",
		"a b {}":                    "line 1: after a, neither = nor { follows",
		strings.Repeat("a {", 1000): "line 1: more than 100 blocks are in each other",
		"a { b = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "}": "line 1: more than 100 brackets are in each other",
	} {
		if _, err := alloyconfig.Blocks(text); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
		if got := alloyconfig.Config(text); got["unreadable"] != text {
			t.Errorf("%.20q is read as %v", text, got)
		}
	}
}

// TestTargetsWithoutEnd: components that get their targets from themselves, or each from the next one twice, are not followed.
func TestTargetsWithoutEnd(t *testing.T) {
	chain := ""
	for i := range 60 {
		chain += fmt.Sprintf("discovery.relabel \"a%d\" {\n\ttargets = array.concat(discovery.relabel.a%d.output, discovery.relabel.a%[2]d.output)\n}\n", i, i+1)
	}
	for name, components := range map[string]string{
		"itself": "discovery.relabel \"a0\" {\n\ttargets = discovery.relabel.a0.output\n}\n",
		"circle": "discovery.relabel \"a0\" {\n\ttargets = discovery.relabel.b.output\n}\ndiscovery.relabel \"b\" {\n\ttargets = discovery.relabel.a0.output\n}\n",
		"chain":  chain,
	} {
		for kind, text := range map[string]string{
			"metrics": "prometheus.remote_write \"m\" { }\nprometheus.scrape \"m\" {\n\ttargets = discovery.relabel.a0.output\n\tforward_to = [prometheus.remote_write.m.receiver]\n}\n",
			"logs": "loki.write \"m\" {\n\tendpoint { }\n}\nloki.source.file \"m\" {\n\ttargets = local.file_match.m.targets\n\tforward_to = [loki.write.m.receiver]\n}\n" +
				"local.file_match \"m\" {\n\tpath_targets = discovery.relabel.a0.output\n}\n",
		} {
			if got := alloyconfig.Config(text + components); got["unreadable"] != text+components {
				t.Errorf("%s, %s: read as %v", name, kind, got)
			}
		}
	}
}

// TestConfig reads what several jobs share as a part of each, and rules that stand for settings as settings.
func TestConfig(t *testing.T) {
	text := `// by hand
logging { level = "info" }
prometheus.remote_write "m__i" {
	external_labels = {"cluster" = "x", "of" = sys.env("ZONE") + "-" }
	endpoint { url = "https://x.example.com" }
}
prometheus.relabel "reports" {
	forward_to = [prometheus.remote_write.m__i.receiver]
	rule { action = "keep" }
}
prometheus.relabel "rules" {
	forward_to = [prometheus.remote_write.m__i.receiver]
	rule { action = "drop" }
	rule { regex = "go_.*" }
}
prometheus.scrape "m__i" {
	targets    = array.concat(discovery.relabel.podMonitor__m__a__0.output, discovery.relabel.podMonitor__m__b_c__0.output)
	forward_to = [prometheus.relabel.reports.receiver, prometheus.relabel.rules.receiver]
	scrape_interval = "1m"
}
discovery.kubernetes "pod" { role = "pod" }
discovery.relabel "podMonitor__m__a__0" {
	targets = discovery.kubernetes.pod.targets
	rule {
		target_label = "job"
		replacement  = "podMonitor/m/a/0"
	}
	rule {
		target_label = "__scrape_interval__"
		replacement  = "10s"
	}
	rule {
		source_labels = ["__address__"]
		regex         = "([^:\\[\\]]+|\\[[^\\[\\]]*\\])"
		target_label  = "__address__"
		replacement   = "$1:80"
	}
}
discovery.relabel "podMonitor__m__b_c__0" {
	targets = [{"__address__" = "a:1", "team" = "x"}]
	rule {
		target_label = "job"
		replacement  = "podMonitor/m/b-c/0"
	}
	rule { target_label = "x" }
}
local.file "unused" { filename = ` + "`a\nb`" + ` }
`
	type object = map[string]any
	rules := []any{object{"regex": "go_.*"}}
	want := object{
		"server": object{"log_level": "info"},
		"metrics": object{"configs": []any{object{
			"name": "m/i", "external_labels": object{"cluster": "x", "of": `sys.env("ZONE") + "-"`},
			"remote_write": []any{object{"url": "https://x.example.com"}},
			"scrape_configs": []any{
				object{"job_name": "podMonitor/m/a/0", "scrape_interval": "10s", "metric_relabel_configs": rules,
					"kubernetes_sd_configs": []any{object{"role": "pod"}}},
				object{"job_name": "podMonitor/m/b-c/0", "scrape_interval": "1m", "metric_relabel_configs": rules,
					"relabel_configs": []any{object{"target_label": "x"}},
					"static_configs":  []any{object{"targets": []any{"a:1"}, "labels": object{"team": "x"}}}},
			},
		}}},
		"components": []any{object{"component": "local.file.unused", "filename": "a\nb"}},
	}
	if d := cmp.Diff(want, whole(text)); d != "" {
		t.Error(d)
	}
}

// TestConfigOfManyJobs: all jobs of an instance can share one component, whose list of targets is as long as there are jobs.
func TestConfigOfManyJobs(t *testing.T) {
	allocated := func(jobs int) float64 {
		targets, rules := "", ""
		for i := range jobs {
			targets += fmt.Sprintf("discovery.relabel.j%d.output, ", i)
			rules += fmt.Sprintf("discovery.relabel \"j%d\" {\n\trule {\n\t\ttarget_label = \"job\"\n\t\treplacement = \"j%d\"\n\t}\n}\n", i, i)
		}
		text := "prometheus.remote_write \"m__i\" { }\nprometheus.scrape \"m__i\" {\n\ttargets = array.concat(" + targets +
			")\n\tforward_to = [prometheus.remote_write.m__i.receiver]\n}\n" + rules
		return testing.AllocsPerRun(2, func() { whole(text) })
	}
	if few, many := allocated(100), allocated(800); many > 12*few {
		t.Errorf("100 jobs take %.0f allocations, 800 take %.0f", few, many)
	}
}

// TestOrderOfComponentsMeansNothing: a job is the same wherever it is scraped.
func TestOrderOfComponentsMeansNothing(t *testing.T) {
	text := func(parts ...string) string {
		out := "prometheus.remote_write \"m__i\" { }\n"
		for i, jobs := range parts {
			targets := ""
			for _, j := range strings.Fields(jobs) {
				targets += "discovery.relabel." + j + ".output, "
				out += fmt.Sprintf("discovery.relabel %q {\n\trule {\n\t\ttarget_label = \"job\"\n\t\treplacement = %q\n\t}\n}\n", j, j)
			}
			out += fmt.Sprintf("prometheus.scrape \"m__i__part_%d\" {\n\ttargets = array.concat(%s)\n\tforward_to = [prometheus.remote_write.m__i.receiver]\n}\n", i, targets)
		}
		return out
	}
	want := whole(text("a b c d"))
	if got := whole(text("b d", "a c")); !cmp.Equal(want, got) || !strings.Contains(fmt.Sprint(got), "d") {
		t.Error(cmp.Diff(want, got))
	}
}
