package checkout

import (
	"io/fs"
	"slices"
	"testing"
)

// TestFilesAreATree: texts in memory are read like the files of any commit, and the same texts are the same commit.
func TestFilesAreATree(t *testing.T) {
	texts := map[string][]byte{"a.yaml": []byte("a"), "b/c.yaml": []byte("c"), "b/d/e.yaml": []byte("e")}
	f := NewFiles(texts)
	rd := Reader(f)
	defer rd.Close()
	commit, err := rd.Commit(f.ID())
	if err != nil {
		t.Fatal(err)
	}
	files := rd.Files(commit.Tree)
	var names []string
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if want := []string{"a.yaml", "b/c.yaml", "b/d/e.yaml"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("the files are %q, %v", names, err)
	}
	for name, want := range texts {
		got, err := fs.ReadFile(files, name)
		if err != nil || string(got) != string(want) || string(f.Text(name)) != string(want) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if NewFiles(texts).ID() != f.ID() {
		t.Error("the same texts are another commit")
	}
	texts["b/c.yaml"] = []byte("d")
	if NewFiles(texts).ID() == f.ID() {
		t.Error("other texts are the same commit")
	}
}
