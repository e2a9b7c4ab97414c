package manifest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/agentry-dev/agentry/generator/diag"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestGolden parses the files of each archive in testdata and compares the report with its
// file "want". The archive's comment says what it is about; lines "default namespace: x", "unknown fields: x" and
// "compatibility: x" in it set the options.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			last := len(archive.Files) - 1
			if last < 0 || archive.Files[last].Name != "want" {
				archive.Files = append(archive.Files, txtar.File{Name: "want"})
				last++
			}
			got := report(archive.Files[:last], options(string(archive.Comment)))
			if *update {
				archive.Files[last].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(archive.Files[last].Data), got); diff != "" {
				t.Errorf("report (-want +got), run with -update to accept:\n%s", diff)
			}
			if strings.Contains(got, "hunter2") {
				t.Error("the report shows a secret")
			}
		})
	}
}

func options(comment string) Options {
	var opts Options
	for line := range strings.Lines(comment) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "default namespace":
			opts.DefaultNamespace = value
		case "unknown fields":
			opts.UnknownFields = UnknownFields(value)
		case "compatibility":
			opts.Compatibility = Compatibility(value)
		}
	}
	return opts
}

// report parses files and writes down all that comes of it.
func report(files []txtar.File, opts Options) string {
	var results []Result
	var diags diag.List
	for _, f := range files {
		// Special characters that an archive cannot hold, or that editors would eat.
		data := strings.NewReplacer("<CR>", "\r", "<TAB>", "\t", "<BOM>", "\uFEFF", "<FF>", "\xFF", "<NUL>",
			"\x00").Replace(string(f.Data))
		result := Parse(File{Path: f.Name, Data: []byte(data)}, opts)
		results = append(results, result)
		diags = append(diags, result.Diags...)
	}
	set := NewSet(results...)
	diags = append(diags, set.Diags()...)
	diags.Sort()

	var out strings.Builder
	for _, o := range set.All() {
		line, column := o.Position("")
		fmt.Fprintf(&out, "%s %s:%d:%d\n", o.ID, o.File(), line, column)
	}
	for i, r := range results {
		name := files[i].Name
		for _, kind := range slices.Sorted(maps.Keys(r.Ignored)) {
			fmt.Fprintf(&out, "%s: ignored %d of %s\n", name, r.Ignored[kind], kind)
		}
		for _, id := range r.Invalid {
			fmt.Fprintf(&out, "%s: invalid %s\n", name, id)
		}
		if r.Broken > 0 {
			fmt.Fprintf(&out, "%s: broken documents: %d\n", name, r.Broken)
		}
	}
	for _, d := range diags {
		fmt.Fprintf(&out, "%s\n", d)
		if d.Hint != "" {
			fmt.Fprintf(&out, "\thint: %s\n", d.Hint)
		}
	}
	return out.String()
}
