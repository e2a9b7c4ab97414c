package flux

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	forgeAddress = "127.0.0.1:3000"
	repository   = "platform/monitoring"
	hookSecret   = "a secret of the webhook"
)

// passwords are those of the forge's users.
func passwords() map[string]string {
	return map[string]string{"dev": "dev-1", "git": "agentry-1", "flux": "flux-1"}
}

// forge is git's smart HTTP backend for those who have a password, with webhooks as Gitea sends
// them.
type forge struct {
	t    *testing.T
	root string
	git  http.Handler

	mu    sync.Mutex // held during a push
	hook  string     // where pushes are told; empty: nowhere
	tells sync.WaitGroup
}

// newForge serves an empty repository.
func newForge(t *testing.T) *forge {
	t.Helper()
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	f := &forge{t: t, root: t.TempDir()}
	f.git = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + f.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}, Stderr: os.Stderr,
	}
	git(t, f.root, "init", "-q", "--bare", "-b", "main", f.dir())
	git(t, f.dir(), "config", "http.receivepack", "true")
	serve(t, forgeAddress, f)
	t.Cleanup(f.tells.Wait)
	return f
}

func (f *forge) dir() string { return filepath.Join(f.root, repository+".git") }

// url is the repository's for a user.
func (f *forge) url(user string) string {
	return fmt.Sprintf("http://%s:%s@%s/%s.git", user, passwords()[user], forgeAddress, repository)
}

// ServeHTTP implements [http.Handler].
func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if password == "" || passwords()[user] != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
		f.git.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.branches()
	f.git.ServeHTTP(w, r)
	for branch, commit := range f.branches() {
		if before[branch] != commit && f.hook != "" {
			body := fmt.Sprintf(`{"ref": %q, "before": %q, "after": %q}`, branch, before[branch], commit)
			f.tells.Go(func() { f.tell(f.hook, body) })
		}
	}
}

// tellTo makes the forge tell somebody of pushes, and returns whom it told before.
func (f *forge) tellTo(url string) (before string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.hook = f.hook, url
	return before
}

func (f *forge) branches() map[string]string {
	out, err := exec.Command("git", "-C", f.dir(), "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").Output()
	if err != nil {
		f.t.Errorf("list branches: %v", err)
	}
	branches := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		branches[name] = commit
	}
	return branches
}

// tell sends a webhook.
func (f *forge) tell(url, body string) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return
	}
	request.Header.Set("X-Gitea-Event", "push")
	request.Header.Set("X-Gitea-Signature", signature(hookSecret, []byte(body)))
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		f.t.Logf("webhook: %v", err) // agentry may just have been stopped.
		return
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusAccepted && response.StatusCode != http.StatusOK {
		f.t.Errorf("webhook: %s", response.Status)
	}
}

// signature is the HMAC-SHA-256 of a body, in hex.
func signature(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// git runs git as one who has no settings, and returns what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitIn(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func gitIn(dir string, args ...string) ([]byte, error) {
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.com")
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return out, nil
}
