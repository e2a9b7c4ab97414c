package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
)

const (
	testToken  = "s3cret-t0ken"
	testCommit = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
)

// exchange is a request that must come, and its answer.
type exchange struct {
	method, target, request string
	status                  int
	header                  http.Header
	body                    string
}

// conversation is a forge that takes the requests of one conversation, in their order, and no others.
type conversation struct {
	t      *testing.T
	server *httptest.Server

	mu   sync.Mutex
	rest []exchange
}

// converse reads a conversation from testdata: exchanges between lines of dashes, each a request
// line, the JSON of the request, a line with the status, headers, an empty line and the answer.
// SITE stands for the server's address.
func converse(t *testing.T, name string) *conversation {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := &conversation{t: t}
	c.server = httptest.NewServer(c)
	t.Cleanup(c.server.Close)
	for part := range strings.SplitSeq(strings.ReplaceAll(string(text), "SITE", c.server.URL), "\n----\n") {
		c.rest = append(c.rest, parseExchange(t, part))
	}
	t.Cleanup(func() {
		if len(c.rest) > 0 && !t.Failed() {
			t.Errorf("%d requests did not come, the next is %s %s", len(c.rest), c.rest[0].method, c.rest[0].target)
		}
	})
	return c
}

func parseExchange(t *testing.T, text string) exchange {
	t.Helper()
	request, answer, ok := strings.Cut(text, "\nHTTP ")
	line, body, _ := strings.Cut(request, "\n")
	out := exchange{request: body, header: http.Header{}}
	var found bool
	out.method, out.target, found = strings.Cut(strings.TrimSpace(line), " ")
	head, rest, _ := strings.Cut(answer, "\n\n")
	lines := strings.Split(head, "\n")
	status, err := strconv.Atoi(lines[0])
	if !ok || !found || err != nil {
		t.Fatalf("not an exchange: %s", text)
	}
	out.status, out.body = status, rest
	for _, l := range lines[1:] {
		key, value, _ := strings.Cut(l, ": ")
		out.header.Add(key, value)
	}
	return out
}

// ServeHTTP implements http.Handler.
func (c *conversation) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fail := func(format string, args ...any) {
		c.t.Errorf(format, args...)
		http.Error(w, "not in the conversation", http.StatusTeapot)
	}
	got := req.Method + " " + req.URL.EscapedPath()
	if len(req.URL.Query()) > 0 {
		got += "?" + req.URL.Query().Encode()
	}
	if len(c.rest) == 0 {
		fail("unexpected %s", got)
		return
	}
	want := c.rest[0]
	c.rest = c.rest[1:]
	if wanted := sortQuery(c.t, want.method+" "+want.target); got != wanted {
		fail("request %s, want %s", got, wanted)
		return
	}
	if auth := req.Header.Get("Authorization"); auth != "Bearer "+testToken && auth != "token "+testToken {
		fail("%s: Authorization is %q", got, auth)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		fail("%s: %v", got, err)
	}
	if diff := cmp.Diff(decoded(c.t, want.request), decoded(c.t, string(body))); diff != "" {
		fail("%s (-want +got):\n%s", got, diff)
	}
	for key, values := range want.header {
		w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(want.status)
	fmt.Fprint(w, want.body)
}

func sortQuery(t *testing.T, request string) string {
	t.Helper()
	at, query, ok := strings.Cut(request, "?")
	if !ok {
		return request
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return at + "?" + values.Encode()
}

// decoded returns JSON without values that are null, empty or zero, because the clients differ in these.
func decoded(t *testing.T, text string) any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	object, _ := v.(map[string]any)
	for key, value := range object {
		if value == nil || value == "" || value == 0.0 {
			delete(object, key)
		}
	}
	return v
}

// forge returns the client of a server.
func (c *conversation) forge(kind pipeline.ForgeType, repository string) Forge {
	c.t.Helper()
	return newForge(c.t, &Sites{}, Config{Type: kind, URL: c.server.URL, Repository: repository, Token: token})
}

func token(context.Context) (string, error) { return testToken + "\n", nil }

func newForge(t *testing.T, s *Sites, cfg Config) Forge {
	t.Helper()
	f, err := s.Forge(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
