package telemetry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/branch"
	"github.com/agentry-dev/agentry/gitsync/plan"
)

const id = "0123456789012345678901234567890123456789"

func monitor(name string) manifest.ID {
	return manifest.ID{Kind: "ServiceMonitor", Namespace: "shop", Name: name}
}

func since(day int) branch.CommitRef {
	return branch.CommitRef{Commit: id, Date: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
}

func pass(r *gitsync.Report, failed bool) Pass {
	return Pass{Pipeline: "prod", Report: r, Failed: failed, Ended: time.UnixMilli(1767323045500),
		Took: 1500 * time.Millisecond}
}

// holding returns the report of a pass that holds some objects.
func holding() *gitsync.Report {
	return &gitsync.Report{
		Diags: diag.List{{Severity: diag.Error}, {Severity: diag.Warning}, {Severity: diag.Warning}},
		Units: []gitsync.UnitReport{{Name: "a/agent", State: plan.UnitChanged, Files: 4},
			{Name: "b/agent", State: plan.UnitHeld, Files: 3}},
		Held: []plan.HeldObject{
			{Object: monitor("checkout"), Units: []string{"a/agent", "b/agent"}, Since: since(3)},
			{Object: monitor("cart"), Units: []string{"a/agent"}, Since: since(2)},
			{Object: manifest.ID{Kind: "Namespace", Name: "lost"}},
		},
		Sources: []gitsync.SourceReport{
			{URL: "https://git.example.com/a.git", Ref: "refs/heads/main", Commit: id},
			{URL: "https://git.example.com/a.git", Ref: "refs/heads/main", Commit: id},
			{URL: "https://git.example.com/b.git", Ref: "refs/heads/main", Commit: id, Stale: true},
		},
	}
}

const always = `
agentry_last_pass_duration_seconds{pipeline="prod"} 1.5
agentry_last_pass_timestamp_seconds{pipeline="prod"} 1.7673230455e+09
`

func TestPasses(t *testing.T) {
	for name, test := range map[string]struct {
		passes []Pass
		want   string
	}{
		"nothing is held": {[]Pass{pass(&gitsync.Report{}, false)}, always + `
agentry_findings{pipeline="prod",severity="error"} 0
agentry_findings{pipeline="prod",severity="warning"} 0
agentry_last_pass_success{pipeline="prod"} 1
agentry_output_files{pipeline="prod"} 0
agentry_ready{pipeline="prod"} 1
agentry_units{pipeline="prod",state="added"} 0
agentry_units{pipeline="prod",state="changed"} 0
agentry_units{pipeline="prod",state="held"} 0
agentry_units{pipeline="prod",state="leftout"} 0
agentry_units{pipeline="prod",state="paused"} 0
agentry_units{pipeline="prod",state="removed"} 0
agentry_units{pipeline="prod",state="unchanged"} 0
`},
		"something is held, and the next pass fails": {[]Pass{pass(holding(), false), pass(&gitsync.Report{}, true)},
			always + `
agentry_findings{pipeline="prod",severity="error"} 1
agentry_findings{pipeline="prod",severity="warning"} 2
agentry_held_objects{kind="Namespace",pipeline="prod",unit=""} 1
agentry_held_objects{kind="ServiceMonitor",pipeline="prod",unit="a/agent"} 2
agentry_held_objects{kind="ServiceMonitor",pipeline="prod",unit="b/agent"} 1
agentry_held_since_timestamp_seconds{pipeline="prod",unit="a/agent"} 1.767312e+09
agentry_held_since_timestamp_seconds{pipeline="prod",unit="b/agent"} 1.7673984e+09
agentry_last_pass_success{pipeline="prod"} 0
agentry_output_files{pipeline="prod"} 7
agentry_ready{pipeline="prod"} 0
agentry_source_info{commit="0123456789012345678901234567890123456789",pipeline="prod",ref="refs/heads/main",source="https://git.example.com/a.git"} 1
agentry_source_info{commit="0123456789012345678901234567890123456789",pipeline="prod",ref="refs/heads/main",source="https://git.example.com/b.git"} 1
agentry_source_stale{pipeline="prod",ref="refs/heads/main",source="https://git.example.com/a.git"} 0
agentry_source_stale{pipeline="prod",ref="refs/heads/main",source="https://git.example.com/b.git"} 1
agentry_units{pipeline="prod",state="added"} 0
agentry_units{pipeline="prod",state="changed"} 1
agentry_units{pipeline="prod",state="held"} 1
agentry_units{pipeline="prod",state="leftout"} 0
agentry_units{pipeline="prod",state="paused"} 0
agentry_units{pipeline="prod",state="removed"} 0
agentry_units{pipeline="prod",state="unchanged"} 0
`},
		"the first pass fails": {[]Pass{pass(&gitsync.Report{}, true)}, always + `
agentry_last_pass_success{pipeline="prod"} 0
agentry_ready{pipeline="prod"} 0
`},
		"no pass": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			passes := NewPasses()
			for _, p := range test.passes {
				passes.Observe(p)
			}
			if diff := cmp.Diff(sorted(test.want), sorted(written(t, passes))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// written returns the metrics file without the help texts.
func written(t *testing.T, passes *Passes) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agentry.prom")
	if err := passes.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// sorted returns the sorted lines of a text.
func sorted(text string) []string {
	return slices.Sorted(strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' }))
}

func TestWriteFile(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "agentry.prom")
	if err := NewPasses().WriteFile(filepath.Join(folder, "nowhere", "agentry.prom")); err == nil {
		t.Error("a file in a folder that is not there was written")
	}
	if err := os.Mkdir(file, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := NewPasses().WriteFile(file); err == nil {
		t.Error("a folder was replaced")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := NewPasses().WriteFile(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v: others must be able to read it", info, err)
	}
	alone(t, file)
}

// alone fails if there is another file beside a file, which a collector might read.
func alone(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != filepath.Base(file) {
		t.Errorf("%v beside %s", entries, filepath.Base(file))
	}
}

// TestHelpSaysWhenToWorry checks the names and help texts of the metrics, and that the manual has them.
func TestHelpSaysWhenToWorry(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	passes := NewPasses()
	passes.Observe(pass(holding(), false))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(passes)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	described := 0
	for range descriptionsOf(passes) {
		described++
	}
	if len(families) != described {
		t.Errorf("%d metrics of %d", len(families), described)
	}
	for _, f := range families {
		if !strings.Contains(f.GetHelp(), "Worry") && !strings.HasSuffix(f.GetName(), "_info") {
			t.Errorf("%s: the help text does not say when to worry", f.GetName())
		}
		if !strings.Contains(string(manual), "`"+f.GetName()) {
			t.Errorf("%s is not in docs/metrics.md", f.GetName())
		}
	}
}

func descriptionsOf(c prometheus.Collector) <-chan *prometheus.Desc {
	out := make(chan *prometheus.Desc)
	go func() {
		defer close(out)
		c.Describe(out)
	}()
	return out
}
