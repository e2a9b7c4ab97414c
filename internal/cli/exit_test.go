package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/cli/command"
)

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want int
		text string
	}{
		"done":                {t.Context(), nil, 0, ""},
		"errors in the input": {t.Context(), command.ErrFindings, 1, ""},
		"wrong usage":         {t.Context(), command.Usagef("try this", "no"), 2, "agentry: no\nhint: try this\n"},
		"wrapped": {t.Context(), fmt.Errorf("a: %w", command.Usagef("try this", "no")), 2,
			"agentry: a: no\nhint: try this\n"},
		"something unforeseen":  {t.Context(), errors.New("disk full"), 2, "agentry: disk full\n"},
		"repository":            {t.Context(), command.RepositoryError(errors.New("gone"), ""), 3, "agentry: gone\n"},
		"interrupted":           {interrupted, context.Canceled, 130, "agentry: interrupted\n"},
		"interrupted, but done": {interrupted, nil, 0, ""},
		"interrupted at the net": {interrupted, command.RepositoryError(errors.New("gone"), ""), 130,
			"agentry: interrupted\n"},
	} {
		var b strings.Builder
		if got := command.ExitCode(test.ctx, &b, test.err); got != test.want || b.String() != test.text {
			t.Errorf("%s: exit code %d and %q, want %d and %q", name, got, b.String(), test.want, test.text)
		}
	}
}

// TestInterruptedSync stops a pass that waits for a server which never answers.
func TestInterruptedSync(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "pipeline.yaml")
	text := fmt.Sprintf("apiVersion: agentry.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: silent}\nspec:\n"+
		"  sources: [{url: 'http://%s/a.git', ref: {branch: main}}]\n  output: {branch: out}\n", silent.Addr())
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		if connection, err := silent.Accept(); err == nil {
			defer connection.Close()
			cancel()
			time.Sleep(time.Second)
		}
	}()
	var out, errs strings.Builder
	env := Env{Stdout: &out, Stderr: &errs, LookupEnv: os.LookupEnv}
	if code := Run(ctx, []string{"agentry", "sync", "-f", file, "--cache-dir", folder}, env); code !=
		command.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

func TestColor(t *testing.T) {
	terminal, err := os.Open(os.DevNull) // A character device, as terminals are.
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	env := func(vars map[string]string) Env {
		return Env{LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	}
	if !env(nil).colored(terminal) {
		t.Error("no colour on a terminal")
	}
	for _, off := range []map[string]string{{"NO_COLOR": "1"}, {"TERM": "dumb"}} {
		if env(off).colored(terminal) {
			t.Errorf("colour with %v", off)
		}
	}
	if env(nil).colored(&strings.Builder{}) {
		t.Error("colour into a pipe")
	}
}
