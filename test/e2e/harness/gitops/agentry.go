package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/test/e2e/harness"
)

// HookAddress is where agentry serve listens for webhooks.
const HookAddress = "127.0.0.1:9292"

// ServeAgentry runs agentry serve with a pipeline file and more arguments until the test ends, and returns where the
// forge tells it of pushes.
func ServeAgentry(t *testing.T, cluster *harness.Cluster, pipeline string, more ...string) (hook string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	if err := os.WriteFile(file, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster.Launch(t, "agentry", harness.Agentry(), append([]string{"serve", "-f", file, "--cache-dir",
		filepath.Join(t.TempDir(), "cache"), "--listen", HookAddress}, more...)...)
	harness.Eventually(t, "agentry serve", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9393/readyz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	return "http://" + HookAddress + "/hook/gitea/" + ForgeAddress + "/" + Repository
}

// Status is what agentry says of a pipeline.
type Status struct {
	Conditions []struct{ Type, Status, Reason, Message string }
	Sources    []struct{ Commit string }
	Output     struct{ Commit string }
	Held       []Object
	Delivery   *Delivery
}

// Object names an object.
type Object struct{ Kind, Namespace, Name string }

func (s Status) ready() string {
	for _, c := range s.Conditions {
		if c.Type == "Ready" {
			return c.Status
		}
	}
	return ""
}

// Rendered waits until agentry is done with a commit of its input, and returns what it says then.
func Rendered(t *testing.T, pipeline, input string) Status {
	t.Helper()
	var s Status
	harness.Eventually(t, "agentry renders "+input, func() (err error) {
		if s, err = ask(pipeline); err != nil {
			return err
		}
		if s.ready() == "Unknown" || len(s.Sources) != 1 || s.Sources[0].Commit != input {
			return fmt.Errorf("it says %+v", s)
		}
		return nil
	})
	return s
}

// Rest waits for the pass that agentry owes those who told it of pushes: it makes one a second at
// most, and its own pushes are told to it too. It makes no other until it is told again.
func Rest(t *testing.T, pipeline string) {
	t.Helper()
	if _, err := agentry("trigger", pipeline); err != nil {
		t.Fatal(err)
	}
}

// ask asks agentry by its command line.
func ask(pipeline string) (Status, error) {
	var s Status
	out, err := agentry("status", pipeline, "--format", "json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// agentry runs a command, which exits 1 if something is held.
func agentry(args ...string) ([]byte, error) {
	out, err := exec.Command(harness.Agentry().Path(), args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		return nil, fmt.Errorf("agentry %s: %w", args[0], err)
	}
	return out, nil
}
