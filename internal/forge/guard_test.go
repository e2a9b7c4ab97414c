package forge

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// answering is a server with one answer for everything, and the number of its requests.
func answering(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		answer(w, req)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server, &asked
}

// each makes a client of each kind for a server, and lists pull requests with it.
func each(t *testing.T, url string, cfg Config, check func(t *testing.T, f Forge, err error)) {
	t.Helper()
	for _, s := range sites() {
		t.Run(string(s.kind), func(t *testing.T) {
			cfg := cfg
			cfg.Type, cfg.URL, cfg.Repository = s.kind, url, s.repository
			if cfg.Token == nil {
				cfg.Token = token
			}
			f := newForge(t, &Sites{}, cfg)
			_, err := f.PullRequests(t.Context(), "main")
			check(t, f, err)
		})
	}
}

func TestErrorsOfASiteAreTheSameForAllAndHoldNoToken(t *testing.T) {
	tests := map[string]struct {
		status    int
		body      string
		want      string // in the error
		permanent bool
	}{
		"a token that is not accepted": {401,
			`{"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"}`,
			"401 Unauthorized: Bad credentials", false},
		"a right that is missing": {403, `{"message": "Resource not accessible by integration"}`,
			"403 Forbidden: Resource not accessible by integration", false},
		"a repository that is not": {404, `{"message": "404 Project Not Found"}`,
			"404 Not Found: 404 Project Not Found", true},
		"an error with its list": {422,
			`{"message": "Validation Failed", "errors": [{"resource": "Status", "field": "sha"}]}`,
			`Validation Failed: [{"field":"sha","resource":"Status"}]`, true},
		"an error of OAuth": {401, `{"error": "invalid_token", "error_description": "x"}`, "invalid_token",
			false},
		"an error that is a page": {502, "<html><body>Bad Gateway</body></html>", "502 Bad Gateway", false},
		"an error that is text":   {500, "it broke\nbadly", "500 Internal Server Error: it broke badly", false},
		"an error that tells secrets": {400, `{"message": "bad header Bearer ` + testToken + `"}`,
			"bad header Bearer ***", true},
		"an error without an end": {500, strings.Repeat("x", 5<<20), "500 Internal Server Error: xxx", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, _ := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body) // the client may stop reading
			})
			each(t, server.URL, Config{}, func(t *testing.T, _ Forge, err error) {
				api, ok := errors.AsType[*APIError](err)
				if !ok || api.Status != test.status || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("got %v, want %s", err, test.want)
				}
				if strings.Contains(err.Error(), testToken) || len(err.Error()) > 600 {
					t.Errorf("the error says too much: %d bytes", len(err.Error()))
				}
				if IsPermanent(err) != test.permanent {
					t.Errorf("permanent: %t", !test.permanent)
				}
			})
		})
	}
}

func TestRateLimitsAreKept(t *testing.T) {
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		wait   time.Duration
	}{
		"too many requests, for seconds":    {429, http.Header{"Retry-After": {"90"}}, "Retry later", 90 * time.Second},
		"too many requests, without a time": {429, nil, "Retry later", time.Minute},
		"GitHub's secondary limit": {403,
			http.Header{"Retry-After": {"60"}, "X-Ratelimit-Remaining": {"4000"}},
			`{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`,
			time.Minute},
		"the same without a time": {403, nil,
			`{"message": "You have exceeded a secondary rate limit and have been temporarily blocked from content creation."}`, time.Minute},
		"GitHub's primary limit": {403,
			http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"RESET"}},
			`{"message": "API rate limit exceeded for user ID 1."}`, 10 * time.Minute},
		"GitLab's limit": {429,
			http.Header{"Ratelimit-Limit": {"600"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"RESET"}},
			"Retry later", 10 * time.Minute},
		"a reset that never comes": {429,
			http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"4102444800"}}, "", time.Hour},
		"longer than anybody waits": {429, http.Header{"Retry-After": {"99999999999"}}, "", time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, values := range test.header {
					for _, v := range values {
						w.Header().Set(key, strings.ReplaceAll(v, "RESET",
							strconv.FormatInt(time.Now().Add(10*time.Minute).Unix(), 10)))
					}
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			})
			each(t, server.URL, Config{}, func(t *testing.T, f Forge, err error) {
				limit, ok := errors.AsType[*RateLimitError](err)
				if !ok || IsPermanent(err) {
					t.Fatalf("got %v", err)
				}
				if wait := limit.RetryAfter(); wait > test.wait || wait < test.wait-30*time.Second {
					t.Errorf("waits %s, want %s", wait, test.wait)
				}
				before := asked.Load()
				if err := f.ClosePullRequest(t.Context(), 1); !errors.As(err, &limit) || asked.Load() != before {
					t.Errorf("asked again: %v", err)
				}
			})
		})
	}
}

func TestTheLastRequestOfALimitBlocksTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{host: "api.github.com"}
		reset := time.Now().Add(10 * time.Minute)
		m.read(http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset": {strconv.FormatInt(reset.Unix(), 10)}})
		sites := &Sites{meters: map[meterKey]*meter{{"a", ""}: m, {"b", ""}: {host: "quiet"}}}
		if got := sites.Remaining(); !maps.Equal(got, map[string]int{"api.github.com": 0}) {
			t.Errorf("limits: %+v", got)
		}
		time.Sleep(10*time.Minute - time.Nanosecond)
		if err := m.allows(); err == nil {
			t.Error("allowed before the reset")
		}
		time.Sleep(time.Nanosecond)
		if err := m.allows(); err != nil {
			t.Errorf("not allowed at the reset: %v", err)
		}
	})
}

func TestRepositoriesShareTheLimitOfOneIdentity(t *testing.T) {
	server, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	})
	var all Sites
	made := func(repository, identity string) Forge {
		return newForge(t, &all, Config{Type: pipeline.ForgeGitHub, URL: server.URL, Repository: repository,
			Identity: identity})
	}
	for _, f := range []Forge{made("o/a", "bot"), made("o/b", "bot"), made("o/b", "another")} {
		if err := f.ClosePullRequest(t.Context(), 1); err == nil {
			t.Error("no error")
		}
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests, want one of each identity", asked.Load())
	}
}

func TestAnswersHaveASize(t *testing.T) {
	const maxBytes = 100000 // in the place of MaxBodyBytes
	for _, test := range []struct {
		name string
		size int
		want error
	}{{"at the limit", maxBytes, nil}, {"above it", maxBytes + 1, httpclient.ErrTooLarge}} {
		t.Run(test.name, func(t *testing.T) {
			server, _ := answering(t, func(w http.ResponseWriter, req *http.Request) {
				if page := req.URL.Query().Get("page"); page != "" && page != "1" {
					fmt.Fprint(w, "[]")
					return
				}
				_, _ = io.WriteString(w, "["+strings.Repeat(" ", test.size-2)+"]") // the client may stop reading
			})
			for _, site := range sites() {
				f := newForge(t, &Sites{maxBytes: maxBytes},
					Config{Type: site.kind, URL: server.URL, Repository: site.repository})
				if _, err := f.PullRequests(t.Context(), "main"); !errors.Is(err, test.want) {
					t.Errorf("%s: got %v", site.kind, err)
				}
			}
		})
	}
}

func TestSlowAnswersEndAtTheDeadline(t *testing.T) {
	server, _ := answering(t, func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, "[")
		_ = http.NewResponseController(w).Flush() // what matters is that no more comes
		<-req.Context().Done()
	})
	each(t, server.URL, Config{Timeout: 100 * time.Millisecond}, func(t *testing.T, _ Forge, err error) {
		if err == nil || !(errors.Is(err, context.DeadlineExceeded) ||
			strings.Contains(err.Error(), "no answer in 100ms") || strings.Contains(err.Error(), "Timeout")) ||
			IsPermanent(err) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheTokenDoesNotFollowARedirectToAnotherHost(t *testing.T) {
	thief, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	server, _ := answering(t, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, thief.URL+req.URL.Path, http.StatusTemporaryRedirect)
	})
	each(t, server.URL, Config{}, func(t *testing.T, f Forge, err error) {
		if err == nil || !strings.Contains(err.Error(), "redirects to") {
			t.Errorf("got %v", err)
		}
		if err := f.SetStatus(t.Context(), testCommit, Status{Context: "a", State: Success}); err == nil {
			t.Error("a status went elsewhere")
		}
	})
	if asked.Load() != 0 {
		t.Errorf("%d requests reached the other host", asked.Load())
	}
}

func TestRedirectsWithinTheSiteAreFollowedAndNoPostBecomesAGet(t *testing.T) {
	server, _ := answering(t, func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/moved") {
			fmt.Fprint(w, "[]")
			return
		}
		http.Redirect(w, req, "/moved", http.StatusMovedPermanently)
	})
	each(t, server.URL, Config{}, func(t *testing.T, f Forge, err error) {
		if err != nil {
			t.Errorf("list: %v", err)
		}
		if err := f.SetStatus(t.Context(), testCommit, Status{Context: "a", State: Success}); err == nil ||
			!strings.Contains(err.Error(), "redirects a POST") {
			t.Errorf("status: %v", err)
		}
	})
}

func TestCertificatesReplaceTheSystems(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "[]")
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	each(t, server.URL, Config{Connection: httpclient.Connection{CAPEM: ca}}, func(t *testing.T, _ Forge, err error) {
		if err != nil {
			t.Errorf("with its CA: %v", err)
		}
	})
	each(t, server.URL, Config{}, func(t *testing.T, _ Forge, err error) {
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("without: %v", err)
		}
	})
	if _, err := new(Sites).Forge(Config{Type: pipeline.ForgeGitHub, URL: server.URL, Repository: "o/n",
		Connection: httpclient.Connection{CAPEM: []byte("none")}}); err == nil {
		t.Error("a CA without a certificate is taken")
	}
}

func TestATokenThatCannotBeHadIsAnError(t *testing.T) {
	server, asked := answering(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	each(t, server.URL, Config{Token: func(context.Context) (string, error) {
		return "", errors.New("open token: no such file")
	}}, func(t *testing.T, _ Forge, err error) {
		if err == nil || !strings.Contains(err.Error(), "access token: open token: no such file") {
			t.Errorf("got %v", err)
		}
	})
	if asked.Load() != 0 {
		t.Error("asked without a token")
	}
}
