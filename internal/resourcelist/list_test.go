package resourcelist

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
)

// zone is an item that says which file it is from.
func zone(name, path, index string) string {
	return fmt.Sprintf("- {apiVersion: v1, kind: Zone, metadata: {name: %s, annotations: "+
		"{internal.config.kubernetes.io/path: %q, internal.config.kubernetes.io/index: %q}}}\n", name, path, index)
}

func read(t *testing.T, items ...string) *List {
	t.Helper()
	l, err := Read(strings.NewReader("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
		strings.Join(items, "")))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestFilesAreThoseOfTheItems: names come from other programs, so only those that a pass reads as YAML are taken.
func TestFilesAreThoseOfTheItems(t *testing.T) {
	for path, want := range map[string]string{
		"a.yaml": "a.yaml", "./a/b.yml": "a/b.yml", "a//b.yaml": "a/b.yaml",
		"": nowhere, "..": nowhere, "../a.yaml": nowhere, "/etc/a.yaml": nowhere, "a/../../b.yaml": nowhere,
		".git/a.yaml": nowhere, "a/.b.yaml": nowhere, "Kptfile": nowhere, "a.json": nowhere, "a.yaml/": "a.yaml",
		"\x00.yaml": "\x00.yaml",
	} {
		l := read(t, zone("a", path, "0"))
		files, err := l.Files()
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(maps.Keys(files)); !slices.Equal(got, []string{want}) {
			t.Errorf("%q is read as %q, not %q", path, got, want)
		}
	}
}

// TestPlacesLeadToItems: a finding at a line of a file is about the item that is there.
func TestPlacesLeadToItems(t *testing.T) {
	l := read(t, zone("a", "x.yaml", "4"), zone("b", "y.yaml", "0"), zone("c", "x.yaml", "7"), zone("d", "", ""))
	files, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]*File{"a": {"x.yaml", 4}, "b": {"y.yaml", 0}, "c": {"x.yaml", 7}, "d": nil} {
		file := "x.yaml"
		if name == "d" {
			file = nowhere
		} else if want.Path == "y.yaml" {
			file = "y.yaml"
		}
		before, _, _ := strings.Cut(string(files[file]), "name: "+name)
		d := diag.PipelineInvalid.At("spec.x[0]>", "is wrong").WithHint("correct it")
		d.File, d.Line, d.Column = file, 1+strings.Count(before, "\n"), 3
		d.Object = diag.Object{APIVersion: "v1", Kind: "Zone", Name: name}
		got := l.Place(&d).Result(d)
		if diff := cmp.Diff(Result{Message: "is wrong; correct it", Severity: "error", Field: &Field{"spec.x[0]"},
			File: want, ResourceRef: &Reference{APIVersion: "v1", Kind: "Zone", Name: name},
			Tags: map[string]string{"code": "pipeline-invalid"}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d.Line != 0 || d.File == nowhere {
			t.Errorf("%s is placed at %s", name, d.Position())
		}
	}
}

func TestWhatIsNoResourceListIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "it is not of kind ResourceList",
		"kind: List\nitems: []\n":        "it is not of kind ResourceList",
		"a: [":                           "yaml",
		"kind: ResourceList\nitems: [a]": "items[0] is not an object",
		strings.Repeat(" ", MaxBytes+1):  "it has more than 64 MiB",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
	}
}
