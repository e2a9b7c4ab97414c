package folder

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

func TestSourceIgnore(t *testing.T) {
	tooMany := ".sourceignore: " + strings.Repeat("x ", sourceignore.MaxPatterns+1)
	tooLarge := ".sourceignore: " + strings.Repeat("#", sourceignore.MaxBytes+1)
	for name, test := range map[string]struct {
		files, paths, want []string
		hidden             int
	}{
		"what it hides is not there, whatever is wrong with it": {
			[]string{".sourceignore: fixtures/ *.gen.yaml !keep.gen.yaml", "a.yaml: a", "b.gen.yaml: b",
				"c/keep.gen.yaml: k", "c/fixtures/Kustomization: x", "c/fixtures/x.yaml: -> nowhere",
				"c/fixtures/d.yaml: d"},
			[]string{"."},
			[]string{"a.yaml: a", "c/keep.gen.yaml: k"}, 2,
		},
		"a file is taken back in from a folder that is ignored": {
			[]string{".sourceignore: /* !/deploy", "a.yaml: a", "b/c.yaml: c", "deploy/d.yaml: d"},
			[]string{"."},
			[]string{"deploy/d.yaml: d"}, 2,
		},
		"the deepest file wins": {
			[]string{".sourceignore: *.yaml", "a/.sourceignore: !b.yaml", "a/b.yaml: b", "a/c.yaml: c"},
			[]string{"."},
			[]string{"a/b.yaml: b"}, 1,
		},
		"those above a path count in a repository": {
			[]string{".git/HEAD: x", ".sourceignore: /a/b/c.yaml", "a/.sourceignore: d.yaml", "a/b/c.yaml: c",
				"a/b/d.yaml: d", "a/b/e.yaml: e"},
			[]string{"a/b"},
			[]string{"a/b/e.yaml: e"}, 2,
		},
		"a work tree of git, whose .git is a file": {
			[]string{".git: x", ".sourceignore: c.yaml", "a/c.yaml: c"},
			[]string{"a"},
			[]string{}, 1,
		},
		"a file that is named is hidden like others": {
			[]string{".git/HEAD: x", ".sourceignore: a/b.yaml", "a/b.yaml: b", "a/c.yaml: c"},
			[]string{"a/b.yaml", "a/c.yaml"},
			[]string{"a/c.yaml: c"}, 1,
		},
		"those above a path are another's without a repository": {
			[]string{".sourceignore: *.yaml", "a/b.yaml: b"},
			[]string{"a"},
			[]string{"a/b.yaml: b"}, 0,
		},
		"the order of the paths makes no difference": {
			[]string{".sourceignore: a/b.yaml", "a/b.yaml: b", "a/c.yaml: c"},
			[]string{"a", "."},
			[]string{"a/c.yaml: c"}, 1,
		},
		"a link goes by its own name": {
			[]string{".sourceignore: real.yaml hidden.yaml out", "real.yaml: r", "hidden.yaml: -> b.yaml",
				"link.yaml: -> real.yaml", "b.yaml: b", "out: -> .."},
			[]string{"."},
			[]string{"b.yaml: b", "link.yaml: r"}, 0,
		},
		"that of a mounted ConfigMap": {
			[]string{"..2026/.sourceignore: b.yaml", "..2026/a.yaml: a", "..2026/b.yaml: b", "..data: -> ..2026",
				"a.yaml: -> ..data/a.yaml", "b.yaml: -> ..data/b.yaml", ".sourceignore: -> ..data/.sourceignore"},
			[]string{"."},
			[]string{"a.yaml: a"}, 1,
		},
		"too many patterns hide all below": {
			[]string{"a/" + tooMany, "a/b/c.yaml: c", "d.yaml: d"},
			[]string{"."},
			[]string{"d.yaml: d", "a/.sourceignore: source-ignore-unusable"}, 1,
		},
		"too large": {
			[]string{tooLarge, "a.yaml: a"},
			[]string{"."},
			[]string{".sourceignore: source-ignore-unusable"}, 1,
		},
		"an unusable one above the path": {
			[]string{".git/HEAD: x", tooLarge, "a/b.yaml: b"},
			[]string{"a"},
			[]string{".sourceignore: source-ignore-unusable"}, 1,
		},
		"an unusable one that is hidden itself": {
			[]string{".sourceignore: a/", "a/" + tooMany, "a/b.yaml: b", "c.yaml: c"},
			[]string{"."},
			[]string{"c.yaml: c"}, 1,
		},
		"links that lead out and nowhere": {
			[]string{"in/a/.sourceignore: -> ../../x", "x: x", "in/a/b.yaml: b", "in/c/.sourceignore: -> y",
				"in/c/d.yaml: d", "in/e.yaml: e"},
			[]string{"in"},
			[]string{"in/e.yaml: e", "in/a/.sourceignore: symlink-refused", "in/c/.sourceignore: symlink-refused"}, 2,
		},
		"a folder of that name says nothing": {
			[]string{".sourceignore/a.yaml: a", "b.yaml: b"},
			[]string{"."},
			[]string{"b.yaml: b"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, test.files...)
			if diff := cmp.Diff(test.want, read(t, Options{}, test.paths...)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			in, err := Read(context.Background(), test.paths, Options{})
			if err != nil || in.Hidden != test.hidden {
				t.Errorf("%d files are hidden, want %d: %v", in.Hidden, test.hidden, err)
			}
		})
	}
}

// TestAPointerOfGitLFSIsNoSourceIgnore: a pointer to a .sourceignore does not contain its patterns.
func TestAPointerOfGitLFSIsNoSourceIgnore(t *testing.T) {
	write(t, "a.yaml: a")
	pointer := "version https://git-lfs.github.com/spec/v1\n" +
		"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	if err := os.WriteFile(sourceignore.FileName, []byte(pointer), 0o644); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".sourceignore: source-ignore-unusable"}, read(t, Options{}, ".")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}
