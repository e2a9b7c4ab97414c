package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

const root = "../../.."

// made is the folder with the files of a release for this machine, which all tests read. commit is a clone of its
// commit, because somebody may commit while tests run.
var made, commit string

func TestMain(m *testing.M) { os.Exit(makeAndRun(m)) }

func makeAndRun(m *testing.M) int {
	ctx := context.Background()
	folder, done, err := clone(ctx, root)
	if err == nil {
		defer done()
		commit = folder
	}
	out, outErr := os.MkdirTemp("", "agentry-release-")
	if err = errors.Join(err, outErr); err == nil {
		defer os.RemoveAll(out)
		err = run(ctx, commit, out, []string{host().os + "/" + host().arch})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a release:", err)
		return 1
	}
	made = filepath.Join(out, "release")
	return m.Run()
}

func host() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// archiveName returns the name of the archive for this machine.
func archiveName() string { return "agentry_" + host().String() + ".tar.gz" }

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// command runs a program in a folder and returns its output.
func command(t *testing.T, dir string, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSameCommitSameBytes makes the release again, in another folder, time zone and umask.
func TestSameCommitSameBytes(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo")
	defer syscall.Umask(syscall.Umask(0o077))
	out := t.TempDir()
	if err := run(t.Context(), commit, out, []string{host().os + "/" + host().arch}); err != nil {
		t.Fatal(err)
	}
	first, second := read(t, filepath.Join(made, checksums)), read(t, filepath.Join(out, "release", checksums))
	if !bytes.Equal(first, second) {
		t.Errorf("two builds differ:\n%s\n%s", first, second)
	}
}

func TestChecksumsAreThoseOfAllFiles(t *testing.T) {
	entries, err := os.ReadDir(made)
	if err != nil {
		t.Fatal(err)
	}
	out := command(t, made, "sha256sum", "--check", "--strict", checksums)
	if got := strings.Count(out, ": OK\n"); got != len(entries)-1 || got < 6 {
		t.Errorf("%d files of %d are right:\n%s", got, len(entries)-1, out)
	}
}

// quickStart matches the commands of the README's first example that need only the programs.
var quickStart = regexp.MustCompile(`(?s)## Quick start\n\n` + "```sh\n(.*?)```")

// TestProgramsNeedNothingElse unpacks the archive into an empty root file system without a network, and runs the first
// commands of README.md.
func TestProgramsNeedNothingElse(t *testing.T) {
	empty := t.TempDir()
	command(t, empty, "tar", "-xzf", filepath.Join(made, archiveName()))
	if err := os.CopyFS(filepath.Join(empty, "quickstart"),
		os.DirFS(filepath.Join(root, "examples", "quickstart"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(empty, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	block := quickStart.FindSubmatch(read(t, filepath.Join(root, "README.md")))
	if block == nil {
		t.Fatal("README.md has no quick start")
	}
	typed := 0
	for line := range strings.Lines(string(block[1])) {
		line, _, _ = strings.Cut(line, "#")
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "agentry" {
			continue
		}
		typed++
		if out, err := alone(t, empty, args[1:]...); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if typed < 4 {
		t.Errorf("only %d commands of the quick start were typed", typed)
	}
	out, err := alone(t, empty, "diff", "--exit-code", "out..")
	if err != nil || !strings.HasSuffix(out, "\nno difference\n") {
		t.Errorf("what was rendered differs from the inputs: %v\n%s", err, out)
	}
	out, err = alone(t, empty, "version")
	if err != nil || !strings.HasPrefix(out, "agentry v") || strings.Contains(out, "unknown") {
		t.Errorf("no version: %v\n%s", err, out)
	}
}

// alone runs agentry in its own namespaces, with a folder as its root.
func alone(t *testing.T, folder string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/agentry", args...)
	c.Dir, c.Env = "/quickstart", []string{"HOME=/tmp"}
	c.SysProcAttr = &syscall.SysProcAttr{
		Chroot:      folder,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestArchiveHoldsProgramsAndLicences also checks properties that could differ between machines.
func TestArchiveHoldsProgramsAndLicences(t *testing.T) {
	out := command(t, made, "tar", "--numeric-owner", "--utc", "-tvzf", archiveName())
	var names []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		names = append(names, fields[len(fields)-1])
		if fields[1] != "0/0" {
			t.Errorf("an owner: %s", line)
		}
		if isProgram := fields[0] == "-rwxr-xr-x"; isProgram !=
			strings.Contains("agentry agentry-charts agentry-sops", fields[len(fields)-1]) ||
			!isProgram && fields[0] != "-rw-r--r--" {
			t.Errorf("the mode: %s", line)
		}
	}
	if got := strings.Join(names, " "); got !=
		"LICENSE THIRD-PARTY-NOTICES.txt agentry.1 agentry agentry-charts agentry-sops" {
		t.Errorf("in the archive: %s", got)
	}
}

// TestManualPage formats the page like man, and looks for a command, a flag and the title.
func TestManualPage(t *testing.T) {
	folder := t.TempDir()
	command(t, folder, "tar", "-xzf", filepath.Join(made, archiveName()), manual)
	page := string(read(t, filepath.Join(folder, manual)))
	for _, want := range []string{".TH AGENTRY 1", ".SH agentry explain", "--set FIELD=VALUE",
		"agentry - render Grafana Agent Operator custom resources"} {
		if !strings.Contains(strings.ReplaceAll(page, `\-`, "-"), want) {
			t.Errorf("%q is not in the page", want)
		}
	}
	if strings.Contains(page, "Do not edit") || strings.Contains(page, "```") {
		t.Error("there is Markdown in the page")
	}
}
