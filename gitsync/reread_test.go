package gitsync_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/generator/explain"
	"github.com/agentry-dev/agentry/internal/panics"
)

// TestACacheThatIsDamagedWhileObjectsAreReleased: what cannot be read again is an error and no bug, and a later pass
// reads everything anew.
func TestACacheThatIsDamagedWhileObjectsAreReleased(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.input(twoTeams())
	s := l.syncer()
	explained := l.passOf(s).Explained
	damaged := 0
	err := filepath.WalkDir(l.options.CacheDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pack") {
			return err
		}
		damaged++
		if err := os.Chmod(name, 0o600); err != nil {
			return err
		}
		return os.Truncate(name, 0)
	})
	if err != nil || damaged == 0 {
		t.Fatalf("%d packs are damaged: %v", damaged, err)
	}
	runtime.GC() // of what was read again last
	if found := explain.New(*explained).Index().Search("web", 1); found.Total != 2 || found.Entries[0].Line != 1 {
		t.Errorf("the names of objects that cannot be read again: %+v", found)
	}
	if err := printed(explained); err == nil || panics.Is(err) || !strings.Contains(err.Error(), "in/a/") {
		t.Errorf("the explanation of objects that cannot be read again: %v", err)
	}
	l.input(map[string]string{"in/a/web.yaml": monitor("a", "web", "changed")})
	for range 3 {
		if _, err = s.Pass(context.Background()); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal("later passes fail, too:", err)
	}
	if got := l.payload("a/agent"); !strings.Contains(strings.Join(values(got), ""), "changed") {
		t.Errorf("the output does not have the change: %v", got)
	}
}

// printed prints a unit once more.
func printed(of *explain.Render) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panics.Of(value)
		}
	}()
	of.Units[0].Print()
	return nil
}

func values(of map[string]string) (out []string) {
	for _, text := range of {
		out = append(out, text)
	}
	return out
}
