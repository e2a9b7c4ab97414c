package service

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/internal/webhook"
)

const pipelineText = `apiVersion: agentry.dev/v1alpha1
kind: Pipeline
metadata: {name: prod}
spec:
  sources:
    - url: https://git.example.com/shop.git
      ref: {branch: main}
      paths: [in]
      webhook: {type: github, secretFile: secret}
  output: {branch: out}
`

// folder makes a folder with a pipeline whose repository is not contacted before the first round, and the secret of
// its webhook.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pipeline.yaml"), pipelineText)
	write(t, filepath.Join(dir, "secret"), "first\n")
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T, dir string, env map[string]string) Options {
	return Options{
		Path: dir, Version: "v1", CacheDir: t.TempDir(), AdminListen: Address{Address: "127.0.0.1:0"},
		Grace:  time.Second,
		Getenv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		Log:    slog.New(slog.DiscardHandler),
	}
}

// TestSystemdIsNotified acts like systemd: it passes a socket, and signals to reload and to stop.
func TestSystemdIsNotified(t *testing.T) {
	dir := folder(t)
	// The path of a socket must be short.
	sockets, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	address := &net.UnixAddr{Name: filepath.Join(sockets, "n"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	next := func() string {
		t.Helper()
		for {
			buffer := make([]byte, 256)
			n, err := socket.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			if text := string(buffer[:n]); text != "WATCHDOG=1" {
				return text
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	reload := make(chan struct{})
	o := options(t, dir, map[string]string{"NOTIFY_SOCKET": address.Name})
	o.Reload = reload
	ended := make(chan error)
	go func() { ended <- Run(ctx, o) }()
	if got := next(); got != "READY=1" {
		t.Errorf("at the start %q", got)
	}
	reload <- struct{}{}
	first, second := next(), next()
	micros, ok := strings.CutPrefix(first, "RELOADING=1\nMONOTONIC_USEC=")
	if n, err := strconv.ParseInt(micros, 10, 64); !ok || err != nil || n < 0 || second != "READY=1" {
		t.Errorf("at a reload %q, %q", first, second)
	}
	stop()
	if got := next(); got != "STOPPING=1" {
		t.Errorf("at the end %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWatchdog(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want time.Duration
	}{
		"none": {nil, 0},
		"ours": {map[string]string{"WATCHDOG_USEC": "3000000",
			"WATCHDOG_PID": strconv.Itoa(os.Getpid())}, 1500 * time.Millisecond},
		"of whoever it may be":    {map[string]string{"WATCHDOG_USEC": "3000000"}, 1500 * time.Millisecond},
		"of another process":      {map[string]string{"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, 0},
		"of a time that is none":  {map[string]string{"WATCHDOG_USEC": "soon"}, 0},
		"of a time that is empty": {map[string]string{"WATCHDOG_USEC": ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := newSystemd(func(name string) (string, bool) { value, ok := test.env[name]; return value, ok })
			if got.every != test.want {
				t.Errorf("%v", got.every)
			}
		})
	}
}

// TestSecretsOfWebhooksRotate changes the file of a secret, and then removes it.
func TestSecretsOfWebhooksRotate(t *testing.T) {
	dir := folder(t)
	s, err := newService(options(t, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	defs, problems, _ := s.loader.Load()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s.fleet.Set(defs, nil)
	hooks := func(secret string) []webhook.Hook {
		return []webhook.Hook{{Type: "github", Repository: "git.example.com/shop", Secrets: [][]byte{[]byte(secret)}}}
	}
	for _, step := range []struct{ what, text, want string }{
		{"at the start", "first\n", "first"},
		{"changed", "second\n", "second"},
		{"emptied", "", "second"},
		{"back", "third", "third"},
	} {
		write(t, filepath.Join(dir, "secret"), step.text)
		s.refreshHooks()
		if diff := cmp.Diff(hooks(step.want), s.secrets["prod"].hooks); diff != "" {
			t.Errorf("%s: -want +got:\n%s", step.what, diff)
		}
		if strings.Contains(s.secrets["prod"].err, "second") {
			t.Errorf("%s: the error shows the secret: %s", step.what, s.secrets["prod"].err)
		}
	}
	write(t, filepath.Join(dir, "pipeline.yaml"),
		strings.Replace(pipelineText, "      webhook: {type: github, secretFile: secret}\n", "", 1))
	s.reload()
	if len(s.secrets) != 0 {
		t.Errorf("a webhook that is gone is still there: %v", s.secrets)
	}
}
