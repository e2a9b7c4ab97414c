package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

func errorPlaces(diags diag.List) []string {
	var out []string
	for _, d := range diags {
		if d.Severity == diag.Error {
			out = append(out, d.Position()+" "+string(d.Code))
		}
	}
	return out
}

// TestAnInvalidSourceIgnoreHidesAndDeletesNothing: what it meant to hide is not known, so nothing new is
// read below it, and nothing there counts as deleted.
func TestAnInvalidSourceIgnoreHidesAndDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]entry{
		"too large":         {text: strings.Repeat("#", sourceignore.MaxBytes+1)},
		"too many patterns": {text: strings.Repeat("x\n", sourceignore.MaxPatterns+1)},
		"symlink":           {text: "../elsewhere", mode: filemode.Symlink},
		"submodule": {mode: filemode.Submodule,
			hash: plumbing.NewHash("1234567890123456789012345678901234567890")},
		"Git LFS": {text: pointer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := rendered(t)
			files := plain(l.files)
			files["in/b/.sourceignore"] = bad
			files["in/b/new.yaml"] = entry{text: monitor("b", "new", "http")}
			l.minute++
			l.remote.commit("main", files, l.minute, "Ignore")
			report := l.pass()
			if got := errorPlaces(report.Diags); len(got) == 0 || !strings.HasPrefix(got[0], "in/b/.sourceignore") {
				t.Errorf("errors %v", got)
			}
			if states(report)["b/agent"] == "removed" || len(l.payload("b/agent")) == 0 {
				t.Errorf("the unit is gone: %v", report.Diags)
			}
			for name, text := range l.payload("b/agent") {
				if strings.Contains(text, "new") {
					t.Errorf("%s holds what may have been ignored", name)
				}
			}
		})
	}
}

const pointer = "version https://git-lfs.github.com/spec/v1\n" +
	"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// TestSubmodulesOfTheInput are another repository's: their files are not here.
func TestSubmodulesOfTheInput(t *testing.T) {
	t.Parallel()
	l := rendered(t)
	commit := func(change func(tree)) {
		files := plain(l.files)
		change(files)
		l.minute++
		l.remote.commit("main", files, l.minute, "Change")
	}
	link := entry{mode: filemode.Submodule, hash: plumbing.NewHash("1234567890123456789012345678901234567890")}
	commit(func(files tree) { files["elsewhere"] = link })
	if report := l.pass(); len(report.Diags) > 0 {
		t.Errorf("one beside the watched paths: %v", report.Diags)
	}
	commit(func(files tree) {
		delete(files, "in/a/agent.yaml")
		delete(files, "in/a/web.yaml")
		files["in/a"] = link
	})
	report := l.pass()
	if got := errorPlaces(report.Diags); !slices.Contains(got, "in/a submodule-refused") {
		t.Errorf("errors %v", got)
	}
	if len(l.payload("a/agent")) == 0 {
		t.Error("what may be in the submodule counts as deleted")
	}
}
