package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/gitsync/sourceignore"
)

// write makes files below a new folder, and makes the folder the current one. The content
// "-> x" is a link, and "-> /" one to outside; a .sourceignore has a pattern for each word; other
// contents name a Namespace each.
func write(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range files {
		name, content, _ := strings.Cut(f, ": ")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, isLink := strings.CutPrefix(content, "-> "); isLink {
			if err := os.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text := namespace(content)
		if filepath.Base(name) == sourceignore.FileName {
			text = strings.ReplaceAll(content, " ", "\n")
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func namespace(name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %q}}\n", name)
}

// read returns what was read, as "file: name" and "file: code".
func read(t *testing.T, opts Options, paths ...string) []string {
	t.Helper()
	in, err := Read(context.Background(), paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	var diags diag.List
	for _, r := range in.Results {
		for _, o := range r.Objects {
			got = append(got, o.File()+": "+o.Name)
		}
		diags = append(diags, r.Diags...)
	}
	for _, d := range diags {
		got = append(got, d.File+": "+string(d.Code))
	}
	return got
}

func TestRead(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.yaml"), []byte(namespace("outside")), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files, paths, want []string
	}{
		"folders at any depth, by suffix": {
			[]string{"b/c/d.yml: d", "b/a.yaml: a", "z.json: z", "README.md: r", "x.yaml.tmpl: t"},
			[]string{"."},
			[]string{"b/a.yaml: a", "b/c/d.yml: d", "z.json: z"},
		},
		"hidden files and folders are skipped": {
			[]string{".git/a.yaml: a", ".b.yaml: b", "c/.d/e.yaml: e", "f.yaml: f"},
			[]string{"."},
			[]string{"f.yaml: f"},
		},
		"a path that is named is read whatever its name": {
			[]string{".hidden/a.yaml: a", "b.txt: b"},
			[]string{".hidden", "b.txt"},
			[]string{".hidden/a.yaml: a", "b.txt: b"},
		},
		"no file is read twice": {
			[]string{"a/b.yaml: b", "c: -> a"},
			[]string{"a", "./a/b.yaml", ".", "c", "a/"},
			[]string{"a/b.yaml: b"},
		},
		"links within the folder are followed": {
			[]string{".real/a.yaml: a", "link.yaml: -> .real/a.yaml", "folder: -> .other", ".other/b.yaml: b",
				".other/c.yaml: -> ../.real/c.yaml", ".real/c.yaml: c"},
			[]string{"."},
			[]string{"folder/b.yaml: b", "link.yaml: a", "folder/c.yaml: c"},
		},
		"a mounted ConfigMap volume": {
			[]string{"..2026/a.yaml: a", "..data: -> ..2026", "a.yaml: -> ..data/a.yaml"},
			[]string{"."},
			[]string{"a.yaml: a"},
		},
		"a file goes by its own name": {
			[]string{"z.yaml: z", "a.yaml: -> z.yaml"},
			[]string{"."},
			[]string{"z.yaml: z"},
		},
		"links that lead out are refused": {
			[]string{"in/a.yaml: a", "in/out.yaml: -> " + outside + "/x.yaml", "in/up: -> ..", "in/dir: -> " + outside,
				"b.yaml: b", "in/LICENSE: -> ../b.yaml", "in/gone.md: -> gone"},
			[]string{"in"},
			[]string{"in/a.yaml: a", "in/dir: symlink-refused", "in/out.yaml: symlink-refused",
				"in/up: symlink-refused"},
		},
		"links in circles and to nothing": {
			[]string{"a.yaml: -> b.yaml", "b.yaml: -> a.yaml", "self: -> .", "deep/up: -> ..", "gone.yaml: -> nowhere",
				"c.yaml: c"},
			[]string{"."},
			[]string{"c.yaml: c", "a.yaml: symlink-refused", "b.yaml: symlink-refused", "gone.yaml: symlink-refused"},
		},
		"a link that is named": {
			[]string{"real/a.yaml: a", "link: -> real"},
			[]string{"link"},
			[]string{"link/a.yaml: a"},
		},
		"kustomizations are not built": {
			[]string{"a/kustomization.yaml: k", "a/b.yaml: b", "c/Kustomization: x"},
			[]string{"."},
			[]string{"a/b.yaml: b", "a/kustomization.yaml: k", "a/kustomization.yaml: kustomization-not-built",
				"c/Kustomization: kustomization-not-built"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, test.files...)
			if diff := cmp.Diff(test.want, read(t, Options{}, test.paths...)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSkip(t *testing.T) {
	write(t, "a/b/c.yaml: c", "a/d.yaml: d", "e/f.yaml: f")
	skip := func(folder string) bool { return folder == "a/b" || folder == "e" }
	if diff := cmp.Diff([]string{"a/d.yaml: d"}, read(t, Options{Skip: skip}, ".", "e")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

func TestStdin(t *testing.T) {
	if diff := cmp.Diff([]string{"-: a"}, read(t, Options{Stdin: strings.NewReader(namespace("a"))}, "-", "-")); diff !=
		"" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, read(t, Options{}, "-")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	endless := endlessReader{}
	if diff := cmp.Diff([]string{"-: file-too-large"}, read(t, Options{Stdin: endless}, "-")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

func TestFileSize(t *testing.T) {
	write(t)
	for size, want := range map[int64]string{
		manifest.MaxFileBytes:     "a.yaml: not-utf8",
		manifest.MaxFileBytes + 1: "a.yaml: file-too-large",
		1 << 40:                   "a.yaml: file-too-large", // of holes, which must not be read
	} {
		if err := os.WriteFile("a.yaml", []byte{0xFF}, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate("a.yaml", size); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, read(t, Options{}, ".")); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", size, diff)
		}
	}
}

// TestUnreadable runs as the user nobody if root started it, because root can read everything.
func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	write(t, "a/b.yaml: b", "c.yaml: c", "d.yaml: d")
	for _, name := range []string{"a", "c.yaml"} {
		if err := os.Chmod(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod("a", 0o755) }) // so that it can be removed
	if diff := cmp.Diff([]string{"d.yaml: d", "c.yaml: unreadable-file", "a: unreadable-file"},
		read(t, Options{}, ".")); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// nobody is the user and group that own nothing, on every Unix.
const nobody = 65534

// asNobody runs the calling test in a process of the user nobody, who must be able to reach
// the test binary and a folder for temporary files.
func asNobody(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func TestUnreadableFileTakesNothingDown(t *testing.T) {
	f := file{name: "gone.yaml", path: filepath.Join(t.TempDir(), "gone.yaml")}
	result, _ := f.parse(t.Context(), Options{})
	if result.Broken != 1 || len(result.Diags) != 1 || result.Diags[0].String() !=
		"gone.yaml: error[unreadable-file]: cannot be read: no such file or directory" {
		t.Errorf("result %+v", result)
	}
}

func TestErrors(t *testing.T) {
	write(t, "a.yaml: a")
	_, err := Read(context.Background(), []string{"a.yaml", "missing"}, Options{})
	if err == nil || err.Error() != "read missing: no such file or directory" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, []string{"."}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestText(t *testing.T) {
	write(t, "a.yaml: a")
	in, err := Read(context.Background(), []string{".", "-"}, Options{Stdin: strings.NewReader(namespace("b"))})
	if err != nil {
		t.Fatal(err)
	}
	if in.Files != 2 || string(in.Text("a.yaml")) != namespace("a") || string(in.Text("-")) != namespace("b") ||
		in.Text("x") != nil {
		t.Errorf("%d files, texts %q, %q and %q", in.Files, in.Text("a.yaml"), in.Text("-"), in.Text("x"))
	}
}
