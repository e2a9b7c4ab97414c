package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/test/history"
)

const (
	apiTimeout = 10 * time.Second
	// endTimeout is the time that a replica has to end when asked to: its grace period, and a margin for a busy
	// machine.
	endTimeout  = time.Minute
	replicas    = 3
	maxAPIBytes = 64 << 20
)

// replica is a process of agentry serve, which may be dead.
type replica struct {
	n      int
	cache  string
	config string
	log    *os.File
	report func(format string, args ...any) // reports a failure

	mu      sync.Mutex
	cmd     *exec.Cmd
	done    chan struct{}
	code    error
	asked   bool // whether it was asked to end
	admin   string
	hook    string
	stopped bool // by a signal
}

// start starts the process if it is dead.
func (r *replica) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd != nil {
		return nil
	}
	cmd := part(roleAgentry, "serve", "-f", r.config, "--cache-dir", r.cache, "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--workers", "1")
	cmd.Stderr = &logWriter{r: r}
	if _, err := cmd.StdinPipe(); err != nil { // It ends when this ends.
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	r.cmd, r.done, r.asked, r.admin, r.hook, r.stopped = cmd, done, false, "", "", false
	go func() {
		defer close(done)
		err := cmd.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cmd, r.admin, r.hook, r.code = nil, "", "", err
		if !r.asked {
			r.report("replica %d ended by itself: %v", r.n, err)
		}
	}()
	return nil
}

// end ends the process by a signal, and waits for it. It reports whether there was one.
func (r *replica) end(by os.Signal) (bool, error) {
	r.mu.Lock()
	cmd, done, up := r.cmd, r.done, r.admin != ""
	if cmd == nil {
		r.mu.Unlock()
		return false, nil
	}
	r.asked = true
	err := cmd.Process.Signal(by)
	r.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return true, err
	}
	select {
	case <-done:
	case <-time.After(endTimeout):
		_ = cmd.Process.Signal(syscall.SIGQUIT) // logs its goroutines
		time.Sleep(time.Second)
		_ = cmd.Process.Kill()
		<-done
		return true, fmt.Errorf("replica %d did not end in %s", r.n, endTimeout)
	}
	if r.code != nil && by == stopSignal && up { // Before, it may not handle signals yet.
		return true, fmt.Errorf("replica %d ended with %w when it was asked to", r.n, r.code)
	}
	return true, nil
}

// hold stops the process for a while, or continues it.
func (r *replica) hold(stop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil || r.stopped == stop {
		return
	}
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	if r.cmd.Process.Signal(signal) == nil {
		r.stopped = stop
	}
}

// addresses returns the addresses that it listens at, empty before it does.
func (r *replica) addresses() (admin, hook string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.admin, r.hook
}

// status asks for the state of all pipelines.
func (r *replica) status(ctx context.Context) (map[string]fleet.Status, diag.List, error) {
	admin, _ := r.addresses()
	if admin == "" {
		return nil, nil, fmt.Errorf("replica %d does not listen yet", r.n)
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/api/v1/pipelines", nil)
	if err != nil {
		return nil, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAPIBytes))
	if err != nil {
		return nil, nil, err
	}
	if bytes.Contains(data, []byte(history.SecretBytes)) {
		r.report("replica %d tells a secret by its API", r.n)
	}
	var all server.Pipelines
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, nil, fmt.Errorf("status %d: %w", answer.StatusCode, err)
	}
	out := map[string]fleet.Status{}
	for _, s := range all.Items {
		out[s.Name] = s.Status
	}
	return out, all.Problems, nil
}

// tell sends a webhook for a commit.
func (r *replica) sendWebhook(remote *remote, secret, commit string) error {
	_, hook := r.addresses()
	if hook == "" {
		return errors.New("it is dead")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(commit))
	place := strings.TrimSuffix(strings.TrimPrefix(remote.url, "http://"), ".git")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+hook+"/hook/generic/"+place,
		strings.NewReader(commit))
	if err != nil {
		return err
	}
	request.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("webhook: %s", answer.Status)
	}
	return nil
}

// logWriter writes a replica's log, and parses it at the same time.
type logWriter struct {
	r    *replica
	rest []byte
}

var (
	startedLine = regexp.MustCompile(`msg=started .* admin=(\S+) listen=(\S+)`)
	badLine     = regexp.MustCompile(`^panic: |^fatal error: |msg=panic |DATA RACE|` + history.SecretBytes)
)

// Write implements io.Writer.
func (l *logWriter) Write(data []byte) (int, error) {
	n, err := l.r.log.Write(data)
	l.rest = append(l.rest, data...)
	for {
		end := bytes.IndexByte(l.rest, '\n')
		if end < 0 {
			return n, err
		}
		l.line(string(l.rest[:end]))
		l.rest = l.rest[end+1:]
	}
}

func (l *logWriter) line(line string) {
	if m := startedLine.FindStringSubmatch(line); m != nil {
		l.r.mu.Lock()
		l.r.admin, l.r.hook = m[1], m[2]
		l.r.mu.Unlock()
	}
	if badLine.MatchString(line) {
		l.r.report("replica %d logs: %s", l.r.n, line)
	}
}

// kept returns the files of the replica's cache.
func (r *replica) kept() []string {
	var out []string
	_ = filepath.WalkDir(r.cache, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			out = append(out, name)
		}
		return nil
	})
	return out
}
