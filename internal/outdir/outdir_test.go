package outdir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

type tree map[string]string

func TestTheFolderMirrorsTheRender(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	render(t, folder, tree{"kustomization.yaml": "apiVersion: 1", "a/x/one.yaml": "apiVersion: 1",
		"a/y/two.yaml": "apiVersion: 1"})
	add(t, folder, "README", "mine")
	add(t, folder, "a/y/notes.txt", "mine")
	render(t, folder, tree{"kustomization.yaml": "apiVersion: 2", "b/x/one.yaml": "apiVersion: 1"})
	want := tree{"kustomization.yaml": "apiVersion: 2", "b/x/one.yaml": "apiVersion: 1", "README": "mine",
		"a/y/notes.txt": "mine"}
	if diff := cmp.Diff(want, content(t, folder)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "a", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an empty folder stays")
	}
}

func TestKeptFilesStayInTheInventory(t *testing.T) {
	folder := t.TempDir()
	render(t, folder, tree{"a/x/one.yaml": "apiVersion: 1", "b/x/one.yaml": "apiVersion: 1"})
	paused := func(p string) bool { return strings.HasPrefix(p, "a/x/") }
	if err := Write(folder, nil, paused); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"a/x/one.yaml": "apiVersion: 1"}, content(t, folder)); diff != "" {
		t.Errorf("while it is kept (-want +got):\n%s", diff)
	}
	render(t, folder, tree{})
	if diff := cmp.Diff(tree{}, content(t, folder)); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}

// TestAForgedListRemovesNothing: the folder can come from a repository whose author wrote the list.
func TestAForgedListRemovesNothing(t *testing.T) {
	for _, name := range []string{".git/config", "a/.b/c.yaml", "../x.yaml", "/x.yaml", "a//x.yaml", "Makefile",
		"main.go", ".env", "\x1b.yaml\t", "mine.txt"} {
		folder := t.TempDir()
		add(t, folder, ".agentry/rendered", sum([]byte("mine"))+"  "+name+"\n")
		add(t, folder, ".git/config", "mine")
		add(t, folder, "Makefile", "mine")
		was := content(t, folder)
		if err := Write(folder, []File{{Path: "a.yaml", Data: []byte("x")}}, never); err == nil ||
			!strings.Contains(err.Error(), "agentry does not write") {
			t.Errorf("%q: %v", name, err)
		}
		if diff := cmp.Diff(was, content(t, folder)); diff != "" {
			t.Errorf("%q (-before +after):\n%s", name, diff)
		}
	}
	folder := t.TempDir()
	forged := ""
	for _, name := range []string{"secret.yaml", "values.yaml", "gone.yaml", "my.agent.yml.txt"} {
		forged += strings.Repeat("0", 64) + "  " + name + "\n"
	}
	add(t, folder, ".agentry/rendered", forged+sum([]byte("apiVersion: v1"))+"  old.yaml\n")
	mine := tree{"values.yaml": "a: b", "my.agent.yml.txt": "mine", "secret.yaml": "apiVersion: v1"}
	for name, text := range mine {
		add(t, folder, name, text)
	}
	add(t, folder, "old.yaml", "apiVersion: v1")
	render(t, folder, tree{})
	if diff := cmp.Diff(mine, content(t, folder)); diff != "" {
		t.Errorf("what the list names (-want +got):\n%s", diff)
	}
}

// TestAChangedFileIsNotRemoved: a rendered file that somebody edited is not removed when it is no longer rendered.
func TestAChangedFileIsNotRemoved(t *testing.T) {
	folder := t.TempDir()
	render(t, folder, tree{"a.yaml": "apiVersion: 1", "b.yaml": "apiVersion: 1", "b-config.agent.yml.txt": "1"})
	add(t, folder, "a.yaml", "apiVersion: 1\n# mine")
	render(t, folder, tree{})
	if diff := cmp.Diff(tree{"a.yaml": "apiVersion: 1\n# mine"}, content(t, folder)); diff != "" {
		t.Error(diff)
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	for name, before := range map[string]tree{
		"a folder with a file":       {"README": "mine"},
		"a file in the way":          {".agentry/rendered": sum(nil) + "  b.yaml\n", "a.yaml": "mine"},
		"a folder in a file's place": {".agentry/rendered": sum(nil) + "  b.yaml\n", "a.yaml/x": "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for p, data := range before {
				add(t, folder, p, data)
			}
			was := content(t, folder)
			err := Write(folder, []File{{Path: "a.yaml", Data: []byte("x")}, {Path: "b.yaml", Data: []byte("x")}},
				never)
			if _, ok := errors.AsType[*ForeignError](err); !ok {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(was, content(t, folder)); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAnEmptyRepositoryIsEmpty(t *testing.T) {
	folder := t.TempDir()
	add(t, folder, ".git/config", "")
	render(t, folder, tree{"a.yaml": "1"})
}

func TestNothingIsWrittenThroughLinks(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	render(t, folder, tree{"b.yaml": "1"})
	if err := os.Symlink(outside, filepath.Join(folder, "ns")); err != nil {
		t.Fatal(err)
	}
	if err := Write(folder, []File{{Path: "ns/x.yaml", Data: []byte("x")}}, never); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if diff := cmp.Diff(tree{}, content(t, outside)); diff != "" {
		t.Error(diff)
	}
}

func TestUnchangedFilesAreNotTouched(t *testing.T) {
	folder := t.TempDir()
	render(t, folder, tree{"a.yaml": "1"})
	before, err := os.Stat(filepath.Join(folder, "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	render(t, folder, tree{"a.yaml": "1"})
	after, err := os.Stat(filepath.Join(folder, "a.yaml"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was written again, %v", err)
	}
}

func TestPrivateFiles(t *testing.T) {
	folder := t.TempDir()
	if err := Write(folder, []File{{Path: "s.yaml", Private: true}}, never); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "s.yaml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestIs(t *testing.T) {
	for name, test := range map[string]struct {
		files tree
		want  bool
	}{
		"a render":                       {tree{".agentry/rendered": ""}, true},
		"a checkout of an output branch": {tree{".agentry/inventory": "{}"}, true},
		"a folder of somebody's":         {tree{".agentry/pipeline.yaml": ""}, false},
		"an empty folder":                {nil, false},
	} {
		folder := t.TempDir()
		for p, data := range test.files {
			add(t, folder, p, data)
		}
		if got := Is(folder); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	one, two := "one/.agentry/rendered", "clusters/two/.agentry/inventory"
	for name, c := range map[string]struct{ files, want []string }{
		"the output of one pipeline": {[]string{".agentry/rendered", "one/agent.yaml"}, []string{"."}},
		"of several":                 {[]string{one, two, "README.md", ".github/ci.yaml"}, []string{"clusters/two", "one"}},
		"beside a manifest":          {[]string{one, two, "agent.yml"}, nil},
		"beside one in a folder":     {[]string{one, two, "clusters/three/agent.json"}, nil},
		"beside deep files":          {[]string{one, "docs/a/b/c/d/e/x.png"}, []string{"one"}},
		"too deep":                   {[]string{"a/b/c/d/e/.agentry/rendered"}, nil},
		"nothing":                    {},
	} {
		files := fstest.MapFS{}
		for _, file := range c.files {
			files[file] = &fstest.MapFile{}
		}
		if diff := cmp.Diff(c.want, Folders(files)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func never(string) bool { return false }

func render(t *testing.T, folder string, want tree) {
	t.Helper()
	var files []File
	for p := range maps.Keys(want) {
		files = append(files, File{Path: p, Data: []byte(want[p])})
	}
	if err := Write(folder, files, never); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, folder, name, data string) {
	t.Helper()
	name = filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

// content reads a folder, without the list.
func content(t *testing.T, folder string) tree {
	t.Helper()
	got := tree{}
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if p := filepath.ToSlash(relative); p != listName {
			got[p] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
