package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoModuleIsMissing compares the notices with the modules that the linker recorded in the programs. Linking takes
// most of the time: one program is enough in a short test, because the same list is used for all of them.
func TestNoModuleIsMissing(t *testing.T) {
	root := filepath.Join("..", "..")
	list := exec.Command("go", "list", "-deps", "-json", "./cmd/...")
	list.Dir = root
	packages, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	var notices strings.Builder
	if err := run([]string{strings.TrimSpace(string(goroot))}, strings.NewReader(string(packages)), &notices); err !=
		nil {
		t.Fatal(err)
	}
	linked, want, folder := "./cmd/...", 4, t.TempDir()
	if testing.Short() {
		linked, want = "./cmd/agentry-charts", 1
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder+string(filepath.Separator), linked)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	programs, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(programs) != want {
		t.Fatalf("built %q, %v", programs, err)
	}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !strings.Contains(notices.String(), "\n"+m.Path+" "+m.Version+"\n") {
				t.Errorf("%s contains %s %s, but the notices do not name it", filepath.Base(program), m.Path, m.Version)
			}
		}
	}
	for _, part := range []string{"\nGo\n", "The Go Authors", "Apache License", "Permission is hereby granted"} {
		if !strings.Contains(notices.String(), part) {
			t.Errorf("no %q in the notices", part)
		}
	}
}

func TestLicences(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go/LICENSE":            "of Go",
		"a/LICENSE.txt":         "of a",
		"a/forked/COPYING":      "of what a has forked",
		"a/unused/LICENSE":      "of what is not linked",
		"a/license.go":          "package a",
		"bare/README.md":        "no licence",
		"dual/LICENSE-MIT":      "MIT",
		"dual/NOTICE":           "made by somebody",
		"same/deep/er/x.go":     "package er",
		"same/LICENCE":          "of a",
		"same/deep/PATENTS.txt": "granted",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pkg := func(module, dir string) string {
		return fmt.Sprintf(`{"ImportPath": %q, "Dir": %q, "Module": {"Path": %q, "Version": "v1", "Dir": %q}}`,
			module+"/"+dir, filepath.Join(root, module, dir), module, filepath.Join(root, module))
	}
	for name, test := range map[string]struct{ in, want string }{
		"all": {
			`{"ImportPath": "fmt", "Standard": true}{"ImportPath": "m", "Module": {"Path": "m", "Main": true}}` +
				pkg("a", "") + pkg("a", "forked") + pkg("dual", "") + pkg("same", "deep/er"),
			"Go\n\nof Go|a v1\n\nof what a has forked|a v1\nsame v1\n\nof a|dual v1\n\nMIT|dual v1\n\n" +
				"made by somebody|same v1\n\ngranted",
		},
		"no licence": {pkg("a", "") + pkg("bare", ""), "bare v1 has no licence file"},
		"nothing":    {"", "no packages on standard input"},
		"no JSON":    {"go: error", "read the packages"},
		"no module":  {`{"ImportPath": "x"}`, "x does not belong to a module"},
	} {
		var out strings.Builder
		got := ""
		if err := run([]string{filepath.Join(root, "go")}, strings.NewReader(test.in), &out); err != nil {
			got = err.Error()
		} else if sections := strings.Split(out.String(), "\n"+strings.Repeat("=", 80)+"\n\n"); len(sections) > 1 {
			for i := range sections {
				sections[i] = strings.TrimSpace(sections[i])
			}
			got = strings.Join(sections[1:], "|")
		}
		if name == "no JSON" {
			got = strings.SplitN(got, ":", 2)[0]
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
