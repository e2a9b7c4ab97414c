package flux

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// write writes a file of the user's clone.
func (w *world) write(file, text string) {
	w.t.Helper()
	path := filepath.Join(w.work, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// edit replaces a text in a file of the user's clone.
func (w *world) edit(file, before, after string) {
	w.t.Helper()
	edit(w.t, filepath.Join(w.work, file), before, after)
}

func edit(t *testing.T, path, before, after string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), before) {
		t.Fatalf("%s does not hold %q", path, before)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), before, after, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// remove deletes a file of the user's clone.
func (w *world) remove(file string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.work, file)); err != nil {
		w.t.Fatal(err)
	}
}

// push commits what the user has changed, and returns the commit.
func (w *world) push(message string) string {
	w.t.Helper()
	git(w.t, w.work, "add", "--all")
	git(w.t, w.work, "commit", "-q", "--allow-empty", "-m", message)
	git(w.t, w.work, "push", "-q", "origin", "HEAD:main")
	return strings.TrimSpace(git(w.t, w.work, "rev-parse", "HEAD"))
}

// pipeline is what agentry says of the pipeline.
type pipeline struct {
	Conditions []struct{ Type, Status, Reason, Message string }
	Sources    []struct{ Commit string }
	Output     struct{ Commit string }
	Held       []struct{ Object string }
}

func (p pipeline) ready() (status, reason string) {
	for _, c := range p.Conditions {
		if c.Type == "Ready" {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

// ask asks agentry, by its command line.
func (w *world) ask() (pipeline, error) {
	var p pipeline
	out, err := exec.Command(harness.Agentry().Path(), "status", "prod", "--format", "json").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		return p, fmt.Errorf("agentry status: %w", err)
	}
	return p, json.Unmarshal(out, &p)
}

// settled waits until agentry has rendered a commit and Flux has applied what came of it.
func (w *world) settled(input string) pipeline {
	w.t.Helper()
	var p pipeline
	harness.Eventually(w.t, "agentry renders "+input, func() (err error) {
		if p, err = w.ask(); err != nil {
			return err
		}
		if status, _ := p.ready(); status == "Unknown" || len(p.Sources) != 1 || p.Sources[0].Commit != input {
			return fmt.Errorf("it says %+v", p)
		}
		return nil
	})
	w.applied(p.Output.Commit)
	return p
}
