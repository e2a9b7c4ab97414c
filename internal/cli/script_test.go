package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite expected output and docs/cli.md")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(buildAndRun(m))
}

// buildAndRun puts an agentry at the front of PATH for the scripts: as users get it, without
// the race detector, whose start takes half a second. They have no tables for debuggers, which take as long as all the
// rest to link.
func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "agentry-test-")
	if err == nil {
		defer os.RemoveAll(folder)
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", folder, "../../cmd/agentry",
			"../../cmd/agentry-charts", "../../cmd/agentry-sops")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in a release
		err = build.Run()
	}
	if err == nil {
		err = os.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build agentry:", err)
		return 1
	}
	return m.Run()
}

// TestScripts runs testdata/script/*.txtar: what users type, and what they see. Each
// starts in a folder with copies of examples/quickstart and examples/platform in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, params(filepath.Join("testdata", "script")))
}

func params(folder string) testscript.Params {
	return testscript.Params{
		Dir:             folder,
		UpdateScripts:   *update,
		ContinueOnError: true,
		Setup:           setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "located": located,
			"ports": ports, "ready": ready},
	}
}

func setup(e *testscript.Env) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"HOME":                e.WorkDir,
		"CHECKOUT":            filepath.Join(cwd, "..", ".."),
		"XDG_CACHE_HOME":      filepath.Join(e.WorkDir, ".cache"),
		"GIT_CONFIG_GLOBAL":   filepath.Join(e.WorkDir, ".gitconfig"),
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_DATE":     "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
	} {
		e.Setenv(name, value)
	}
	identity := "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(e.WorkDir, ".gitconfig"), []byte(identity), 0o666); err != nil {
		return err
	}
	for _, example := range []string{"quickstart", "platform"} {
		if err := os.CopyFS(filepath.Join(e.WorkDir, example),
			os.DirFS(filepath.Join("..", "..", "examples", example))); err != nil {
			return err
		}
	}
	return nil
}

// exits runs a program that must end with an exit code: exits CODE PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// ports finds free ports for a service, and tells the commands of them by the environment.
func ports(ts *testscript.TestScript, _ bool, _ []string) {
	for _, name := range []string{"AGENTRY_LISTEN", "AGENTRY_ADMIN_LISTEN"} {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(name, l.Addr().String())
		ts.Check(l.Close())
	}
	ts.Setenv("AGENTRY_ADDRESS", "http://"+ts.Getenv("AGENTRY_ADMIN_LISTEN"))
}

// ready waits until all pipelines of the service are.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	for deadline := time.Now().Add(time.Minute); ts.Exec("agentry", "status") != nil; {
		if time.Now().After(deadline) {
			ts.Fatalf("the service is not ready after a minute")
		}
	}
}

// located copies in/FILE... to FILE..., with the folder's URL in place of WORKURL.
func located(ts *testscript.TestScript, _ bool, files []string) {
	for _, name := range files {
		text := ts.ReadFile(filepath.Join("in", name))
		text = strings.ReplaceAll(text, "WORKURL", "file://"+ts.Getenv("WORK"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
	}
}
