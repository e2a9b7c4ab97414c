package gitops

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
	// ForgeAddress is where the Git server listens.
	ForgeAddress = "127.0.0.1:3000"
	// Repository is the path of its only repository.
	Repository = "platform/monitoring"
	// PublicURL is the repository's for those who have their password elsewhere.
	PublicURL = "http://" + ForgeAddress + "/" + Repository + ".git"
	// HookSecret signs its webhooks.
	HookSecret = "a secret of the webhook"
)

// Password is that of a user of the forge. Everybody has one.
func Password(user string) string { return user + "-1" }

// Forge is git's smart HTTP backend for those who have a password, with webhooks as Gitea sends
// them, which are also those of Gogs.
type Forge struct {
	t   *testing.T
	dir string // the repository
	git http.Handler

	mu         sync.Mutex // held during a push
	hooks      []string   // where pushes are told
	deliveries sync.WaitGroup
}

// NewForge serves an empty repository until the test ends.
func NewForge(t *testing.T) *Forge {
	t.Helper()
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	f := &Forge{t: t, dir: filepath.Join(root, Repository+".git")}
	f.git = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"), Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_SYSTEM=/dev/null"}, Stderr: os.Stderr,
	}
	Git(t, root, "init", "-q", "--bare", "-b", "main", f.dir)
	f.Git(t, "config", "http.receivepack", "true")
	Serve(t, ForgeAddress, f)
	t.Cleanup(f.deliveries.Wait)
	return f
}

// Git runs git in the repository of the forge.
func (f *Forge) Git(t *testing.T, args ...string) string {
	t.Helper()
	return Git(t, f.dir, args...)
}

// Tip is the commit of a branch.
func (f *Forge) Tip(t *testing.T, branch string) string {
	t.Helper()
	return strings.TrimSpace(f.Git(t, "rev-parse", "--verify", "refs/heads/"+branch))
}

// URL is the repository's for a user.
func (f *Forge) URL(user string) string {
	return fmt.Sprintf("http://%s:%s@%s/%s.git", user, Password(user), ForgeAddress, Repository)
}

// ServeHTTP implements [http.Handler].
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, ok := r.BasicAuth(); !ok || password != Password(user) {
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
		if before[branch] == commit {
			continue
		}
		body := fmt.Sprintf(
			`{"ref": %q, "before": %q, "after": %q, "commits": [], "repository": {"html_url": "http://%s/%s", "default_branch": "main"}}`,
			branch, before[branch], commit, ForgeAddress, Repository)
		for _, hook := range f.hooks {
			f.deliveries.Go(func() { f.deliver(hook, body) })
		}
	}
}

// TellTo makes the forge tell others of pushes. When it returns, nobody is being told any more of
// those that came before.
func (f *Forge) TellTo(urls ...string) {
	f.mu.Lock()
	defer f.mu.Unlock() // For nobody may begin to tell while we wait.
	f.hooks = urls
	f.deliveries.Wait()
}

func (f *Forge) branches() map[string]string {
	out, err := exec.Command("git", "-C", f.dir, "for-each-ref", "--format=%(refname) %(objectname)",
		"refs/heads").Output()
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
func (f *Forge) deliver(url, body string) {
	status, err := Call(url, HookSecret, body)
	if err != nil {
		f.t.Logf("webhook: %v", err) // Who is called may just have been stopped.
	} else if status != http.StatusAccepted && status != http.StatusOK {
		f.t.Errorf("webhook to %s: %d", url, status)
	}
}

// Call sends a push as a webhook, signed with a secret, and returns the answer's code.
func Call(url, secret, body string) (int, error) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	for _, kind := range []string{"Gitea", "Gogs"} {
		request.Header.Set("X-"+kind+"-Event", "push")
		request.Header.Set("X-"+kind+"-Signature", Sign(secret, []byte(body)))
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// Sign is the HMAC-SHA-256 of a body, in hex.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Git runs git in a folder as one who has no settings, and returns what it prints.
func Git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := RunGit(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// RunGit is [Git] for those who have something to do if it fails.
func RunGit(dir string, args ...string) ([]byte, error) {
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.com", "GIT_COMMITTER_NAME=dev",
		"GIT_COMMITTER_EMAIL=dev@example.com")
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, said.Bytes())
	}
	return out, nil
}
