package gittest

import (
	"bytes"
	"crypto/subtle"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// HTTPOptions are the requirements of an HTTP server. The zero value is open to all.
type HTTPOptions struct {
	User, Password string // basic authentication
	Token          string // or a bearer token
	TLS            bool   // with a CA of its own
	ReadOnly       bool   // pushes get 403, as without write access

	// Wrap wraps the server, to cut or delay answers.
	Wrap func(http.Handler) http.Handler
}

// HTTPServer is git's smart HTTP backend.
type HTTPServer struct {
	URL   string // of the folder of the repositories, without a trailing slash
	CAPEM []byte // set with TLS
}

// NewHTTP serves all repositories below the folder root.
func NewHTTP(t testing.TB, root string, opts HTTPOptions) *HTTPServer {
	t.Helper()
	execPath, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatalf("find git: %v", err)
	}
	var handler http.Handler = &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		},
		Stderr: testWriter{t},
	}
	handler = opts.guard(whole(handler))
	if opts.Wrap != nil {
		handler = opts.Wrap(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	if opts.TLS {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	out := &HTTPServer{URL: server.URL}
	if opts.TLS {
		block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
		out.CAPEM = pem.EncodeToMemory(block)
	}
	return out
}

// whole passes on only requests whose body arrives as a whole: if a client dies in the midst of a body of known length,
// git-http-backend reads the end of it for ever.
func whole(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ContentLength > 0 {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return // there is nobody to tell
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, req)
	})
}

// ServeHTTP serves one repository and returns its URL.
func (r *Repo) ServeHTTP(opts HTTPOptions) (url string, server *HTTPServer) {
	r.t.Helper()
	server = NewHTTP(r.t, filepath.Dir(r.Dir), opts)
	return server.URL + "/" + filepath.Base(r.Dir), server
}

// guard checks credentials and the right to push.
func (o HTTPOptions) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !o.allows(req) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		pushes := strings.HasSuffix(req.URL.Path, "/git-receive-pack") ||
			req.URL.Query().Get("service") == "git-receive-pack"
		if o.ReadOnly && pushes {
			http.Error(w, "you may not push here", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func (o HTTPOptions) allows(req *http.Request) bool {
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	if o.Token != "" {
		return same(req.Header.Get("Authorization"), "Bearer "+o.Token)
	}
	if o.User == "" {
		return true
	}
	user, password, _ := req.BasicAuth()
	return same(user, o.User) && same(password, o.Password)
}

// testWriter writes git's messages to the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("git-http-backend: %s", p)
	return len(p), nil
}
