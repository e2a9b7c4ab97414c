package main

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// mirror serves a release over HTTPS, like GitHub.
type mirror struct {
	*httptest.Server
	files string // a copy of the release, which tests may change
	trust string // a file with the CA to trust
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{files: t.TempDir(), trust: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.CopyFS(m.files, os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/releases/latest/download/", "/releases/download/v1.2.3/"} {
		mux.Handle(path, http.StripPrefix(path, http.FileServer(http.Dir(m.files))))
	}
	m.Server = httptest.NewTLSServer(mux)
	t.Cleanup(m.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
	if err := os.WriteFile(m.trust, authority, 0o666); err != nil {
		t.Fatal(err)
	}
	return m
}

// spoil replaces a text in a file of the release.
func (m *mirror) spoil(t *testing.T, name, old, new string) {
	t.Helper()
	file := filepath.Join(m.files, name)
	text := string(read(t, file))
	if !strings.Contains(text, old) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(text, old, new, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// shell runs a script with these variables and no others except PATH.
func shell(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Dir, c.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// install runs install.sh, and returns its output and whether it installed a program.
func (m *mirror) install(t *testing.T, env ...string) (out string, installed bool) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "dist", "ci", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new folder")
	env = append([]string{"INSTALL_INTO=" + into, "INSTALL_FROM=" + m.URL + "/releases", "CURL_CA_BUNDLE=" + m.trust},
		env...)
	out, err = shell(t, t.TempDir(), env, "sh", script)
	entries, _ := os.ReadDir(into)
	if (err == nil) != (len(entries) == 3) {
		t.Errorf("%d programs are installed, %v\n%s", len(entries), err, out)
	}
	return out, err == nil
}

func TestInstall(t *testing.T) {
	m := newMirror(t)
	sums := string(read(t, filepath.Join(made, checksums)))
	right := sums[strings.Index(sums, archiveName())-66:][:64]
	for name, env := range map[string][]string{
		"the latest release":        nil,
		"a version":                 {"INSTALL_VERSION=v1.2.3"},
		"a checksum that is pinned": {"INSTALL_VERSION=v1.2.3", "INSTALL_SHA256=" + right},
	} {
		if out, installed := m.install(t, env...); !installed || !strings.Contains(out, "agentry v") {
			t.Errorf("%s is not installed:\n%s", name, out)
		}
	}
}

// TestInstalled: in an image that has agentry, nothing is fetched.
func TestInstalled(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, "dist", "ci", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	image := t.TempDir()
	if err := os.WriteFile(filepath.Join(image, "agentry"), []byte("#!/bin/sh\necho agentry $1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	into := filepath.Join(t.TempDir(), "new folder")
	out, err := shell(t, t.TempDir(), []string{"INSTALL_INTO=" + into, "INSTALL_VERSION=installed",
		"INSTALL_FROM=https://127.0.0.1:1", "PATH=" + image + ":" + os.Getenv("PATH")}, "sh", script)
	if _, missing := os.Stat(into); err != nil || out != "agentry version\n" || missing == nil {
		t.Errorf("%v, %v: %s", err, missing, out)
	}
}

func TestInstallRefuses(t *testing.T) {
	otherMachine := t.TempDir() // where uname reports another machine
	uname := func(says string) string {
		t.Helper()
		folder := filepath.Join(otherMachine, says)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\ncase $1 in -m) echo " + says + ";; *) echo Linux;; esac\n"
		if err := os.WriteFile(filepath.Join(folder, "uname"), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		return "PATH=" + folder + ":" + os.Getenv("PATH")
	}
	other := map[string]string{"amd64": "aarch64", "arm64": "x86_64"}[host().arch]
	for name, test := range map[string]struct {
		spoil func(*mirror)
		env   []string
		says  string
	}{
		"another checksum": {says: ": nothing is installed", spoil: func(m *mirror) {
			m.spoil(t, checksums, "  "+archiveName(), "0  "+archiveName())
		}},
		"another archive": {says: ": nothing is installed", spoil: func(m *mirror) {
			m.spoil(t, archiveName(), "\x1f\x8b", "\x1f\x8c")
		}},
		"another pinned checksum": {says: "instead of 00: ", env: []string{"INSTALL_SHA256=00"}},
		"no checksum": {says: "has no checksum of " + archiveName(), spoil: func(m *mirror) {
			m.spoil(t, checksums, archiveName(), "other.tar.gz")
		}},
		"a release that is not": {says: "v9.9.9/" + archiveName() + " cannot be fetched",
			env: []string{"INSTALL_VERSION=v9.9.9"}},
		"an image without agentry": {says: "no agentry is on the PATH", env: []string{"INSTALL_VERSION=installed",
			"PATH=/usr/bin:/bin"}},
		"what is no version": {says: "is not a version", env: []string{"INSTALL_VERSION=../v1.2.3"}},
		"a platform without one": {
			says: "cannot be fetched: does this release exist, and does it include this platform?",
			env:  []string{uname(other)}},
		"a platform that is not": {says: "there is no release for riscv64", env: []string{uname("riscv64")}},
		"a server without HTTPS": {says: "cannot be fetched",
			env: []string{"INSTALL_FROM=http://127.0.0.1:1/releases"}},
		"a server nobody vouches for": {says: "cannot be fetched", env: []string{"CURL_CA_BUNDLE=/dev/null"}},
	} {
		m := newMirror(t)
		if test.spoil != nil {
			test.spoil(m)
		}
		if out, installed := m.install(t, test.env...); installed || !strings.Contains(out, test.says) {
			t.Errorf("%s: installed: %t\n%s", name, installed, out)
		}
	}
}

// action has the fields of action.yml that GitHub reads.
type action struct {
	Name, Description string
	Branding          map[string]string
	Inputs            map[string]struct {
		Description string
		Default     *string
		Required    bool
	}
	Runs struct {
		Using string
		Steps []struct {
			Name, If, Shell, Run string
			Env                  map[string]string
		}
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	decoder := yaml.NewDecoder(strings.NewReader(string(read(t, filepath.Join(root, "action.yml")))))
	decoder.KnownFields(true)
	if err := decoder.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestActionIsOne checks GitHub's requirements for a composite action, and that no foreign text becomes part of a
// script.
func TestActionIsOne(t *testing.T) {
	a := readAction(t)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) != 2 {
		t.Errorf("no composite action of two steps: %+v", a)
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if s.Shell == "" || s.Run == "" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %q: a script needs a shell, and no expressions:\n%s", s.Name, s.Run)
		}
		for _, value := range append(slices.Collect(maps.Values(s.Env)), s.If) {
			for _, m := range regexp.MustCompile(`inputs\.([a-z0-9]+)`).FindAllStringSubmatch(value, -1) {
				used[m[1]] = true
			}
		}
	}
	for name, input := range a.Inputs {
		if input.Description == "" || input.Default == nil || !used[name] {
			t.Errorf("input %s needs a description, a default and a use: %+v", name, input)
		}
		delete(used, name)
	}
	if len(used) > 0 {
		t.Errorf("there are no inputs %v", used)
	}
}
