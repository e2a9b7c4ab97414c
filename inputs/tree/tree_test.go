package tree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/inputs/tree"
)

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func repository() fstest.MapFS {
	return fstest.MapFS{
		"base/app.yaml":        file("app"),
		"base/hidden.yaml":     file("hidden"),
		"base/.sourceignore":   file("hidden.yaml\n"),
		"links/app.yaml":       link("../base/app.yaml"),
		"links/base":           link("../base"),
		"links/twice":          link("base"),
		"links/out":            link("../../etc/passwd"),
		"links/root":           link("/etc/passwd"),
		"links/a":              link("b"),
		"links/b":              link("a"),
		"module":               &fstest.MapFile{Mode: fs.ModeIrregular},
		"closed/.sourceignore": link("../base/.sourceignore"),
		"closed/app.yaml":      file("app"),
	}
}

func TestPathsAndLinksStayInTheRepository(t *testing.T) {
	for name, want := range map[string]string{
		"base/app.yaml":               "base/app.yaml",
		"base/../base/app.yaml":       "base/app.yaml",
		"links/app.yaml":              "base/app.yaml",
		"links/base/app.yaml":         "base/app.yaml",
		"links/twice/app.yaml":        "base/app.yaml",
		"links/base/../module":        "does not exist",
		"links/base/../base/app.yaml": "base/app.yaml",
		"base/hidden.yaml":            "does not exist",
		"closed/app.yaml":             "does not exist",
		"module":                      "does not exist",
		"nowhere/app.yaml":            "does not exist",
		"base/app.yaml/x":             "does not exist",
		"../base":                     "outside",
		"links/out":                   "outside",
		"links/root":                  "outside",
		"links/a":                     "fails",
	} {
		real, _, err := tree.New(context.Background(), repository()).Resolve(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			real = "does not exist"
		case errors.Is(err, tree.ErrOutside):
			real = "outside"
		case err != nil:
			real = "fails"
		}
		if real != want {
			t.Errorf("%s is %q, want %q (%v)", name, real, want, err)
		}
	}
}

// TestDisksAreReadAsCommitsAre: os.Root.FS has links of its own.
func TestDisksAreReadAsCommitsAre(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "a"), 0o755),
		os.WriteFile(filepath.Join(dir, "a", "x.yaml"), []byte("x"), 0o644),
		os.Symlink("a/x.yaml", filepath.Join(dir, "in.yaml")),
		os.Symlink("../../etc/hostname", filepath.Join(dir, "a", "out.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	view := tree.New(context.Background(), root.FS().(tree.Files))
	if text, err := view.ReadFile("in.yaml"); string(text) != "x" || err != nil {
		t.Errorf("in.yaml is %q, %v", text, err)
	}
	if _, err := view.ReadFile("a/out.yaml"); !errors.Is(err, tree.ErrOutside) {
		t.Errorf("a link out of the folder: %v", err)
	}
	if names, err := view.List("a"); len(names) != 2 || err != nil {
		t.Errorf("a has %v, %v", names, err)
	}
}

// TestReadsAreWhatABuildDependsOn: a change that a build cannot see does not repeat it, and any other does.
func TestReadsAreWhatABuildDependsOn(t *testing.T) {
	read := func(t *testing.T, files fstest.MapFS) tree.Reads {
		view := tree.New(context.Background(), files)
		for _, name := range []string{"links/app.yaml", "base/other.yaml", "closed"} {
			view.ReadFile(name) // what fails is noted too
		}
		if _, err := view.List("links"); err != nil {
			t.Fatal(err)
		}
		return view.Reads()
	}
	for name, c := range map[string]struct {
		changed string
		to      *fstest.MapFile
		holds   bool
	}{
		"a file that was not read":        {"base/more/x.yaml", file("x"), true},
		"the text of a listed file":       {"links/b", link("c"), true},
		"the text of a file":              {"base/app.yaml", file("other"), false},
		"a file that was not there":       {"base/other.yaml", file("x"), false},
		"a link to another file":          {"links/app.yaml", link("../closed/app.yaml"), false},
		"a link that becomes a file":      {"links/app.yaml", file("app"), false},
		"a file in a folder":              {"links/new.yaml", file("x"), false},
		"a rule":                          {"base/.sourceignore", file("app.yaml"), false},
		"a rule where there was none":     {".sourceignore", file("base/"), false},
		"a folder that becomes a file":    {"closed", file("x"), false},
		"a file that is one no more":      {"base/app.yaml", &fstest.MapFile{Mode: fs.ModeIrregular}, false},
		"a file in a folder that is read": {"closed/app.yaml", file("y"), true},
	} {
		t.Run(name, func(t *testing.T) {
			before := read(t, repository())
			after := repository()
			if name == "a folder that becomes a file" {
				maps.DeleteFunc(after, func(name string, _ *fstest.MapFile) bool {
					return filepath.Dir(name) == "closed"
				})
			}
			after[c.changed] = c.to
			if got := before.Hold(after); got != c.holds {
				t.Errorf("the reads hold: %v, want %v", got, c.holds)
			}
			edited := false
			if old, found := repository()[c.changed]; found {
				edited = old.Mode == 0 && c.to.Mode == 0
			}
			change := tree.Change{Path: c.changed, Edited: edited}
			concerns := before.Concern(change)
			if !c.holds && !concerns {
				t.Error("the change does not concern the reads")
			}
			var many []tree.Change
			for i := range 100 {
				many = append(many, tree.Change{Path: fmt.Sprintf("unread/%d", i), Edited: true})
			}
			if tree.NewChanges(change).Concern(before) != concerns ||
				tree.NewChanges(append(many, change)...).Concern(before) != concerns {
				t.Errorf("it concerns the reads alone: %v, but not so among others", concerns)
			}
			if again := read(t, after); c.holds != (again.Digest() == before.Digest()) {
				t.Errorf("the digests do not say the same: %s", cmp.Diff(before, again))
			}
		})
	}
}

func TestReadsAreBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	view := tree.New(ctx, repository())
	for range tree.MaxSteps {
		if _, err := view.ReadFile("base/app.yaml"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := view.ReadFile("base/app.yaml"); !errors.Is(err, tree.ErrTooMuch) {
		t.Errorf("one step more: %v", err)
	}
	cancel()
	if _, err := tree.New(ctx, repository()).ReadFile("base/app.yaml"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	large := fstest.MapFS{"x.yaml": &fstest.MapFile{Data: make([]byte, 8<<20+1)}}
	if _, err := tree.New(context.Background(), large).ReadFile("x.yaml"); !errors.Is(err, tree.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
}

func TestSearchHasNoLimit(t *testing.T) {
	search := tree.ForSearch(context.Background(), fstest.MapFS{"a.yaml": {}})
	for range tree.MaxSteps + 1 {
		if _, _, err := search.Resolve("a.yaml"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMountedFilesAreApart(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := tree.Mount(fstest.MapFS{"base/a": file("own"), "@1/a": file("hidden"),
		"link": {Data: []byte("@1/base"), Mode: fs.ModeSymlink}},
		map[string]tree.Files{"@1": fstest.MapFS{"base/a": file("other"),
			"up": {Data: []byte("../base"), Mode: fs.ModeSymlink}}})
	read := func(t *tree.Tree, name string) string {
		text, err := t.ReadFile(name)
		if errors.Is(err, tree.ErrOutside) {
			return "outside"
		} else if err != nil {
			return "absent"
		}
		return string(text)
	}
	for folder, want := range map[string][]string{
		".":   {"own", "outside", "outside", "outside", "absent"},
		"@1":  {"outside", "other", "other", "outside", "absent"},
		"all": {"own", "other", "other", "outside", "absent"},
	} {
		of := tree.New(context.Background(), files)
		if folder != "all" {
			of.Confine(folder)
		}
		var got []string
		for _, name := range []string{"base/a", "@1/base/a", "link/a", "@1/up/a", "@1/a"} {
			got = append(got, read(of, name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", folder, diff)
		}
	}
	entries, err := tree.New(context.Background(), files).List("@1")
	if err != nil || len(entries) != 2 {
		t.Errorf("it lists %v, %v", entries, err)
	}
}

// A .sourceignore file counts for its own repository: its patterns count from its folder, and the files of a repository
// that is mounted are not in that folder.
func TestRulesOfOneRepositoryDoNotHideFilesOfAnother(t *testing.T) {
	t.Parallel()
	of := tree.New(context.Background(), tree.Mount(
		fstest.MapFS{".sourceignore": file("/*\n!/own\n"), "own/a.yaml": file("own"), "b.yaml": file("own")},
		map[string]tree.Files{"@1": fstest.MapFS{"a.yaml": file("other"), "own/.sourceignore": file("/x.yaml\n"),
			"own/x.yaml": file("x"), "x.yaml": file("x")}}))
	for name, isShown := range map[string]bool{"own/a.yaml": true, "b.yaml": false, "@1/a.yaml": true,
		"@1/x.yaml": true, "@1/own/x.yaml": false} {
		if _, err := of.ReadFile(name); (err == nil) != isShown {
			t.Errorf("%s: shown is %v: %v", name, !isShown, err)
		}
	}
	want := tree.Hidden{"b.yaml": ".sourceignore:1", "@1/own/x.yaml": "@1/own/.sourceignore:1"}
	if diff := cmp.Diff(want, of.Hidden()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tree.Hidden{"@1/own/x.yaml": "@1/own/.sourceignore:1"}, of.Hidden().Below("@1")); diff != "" {
		t.Error(diff)
	}
}
