package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/test/logintest"
)

// browser is a user's browser, at a service with logins.
type browser struct {
	*http.Client
	t       *testing.T
	service string
	fleet   *fake
}

// newBrowser serves a fleet to a group of users. Programs have the token "program".
func newBrowser(t *testing.T, group string) *browser {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = []string{group}
	mux := http.NewServeMux()
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	log := slog.New(slog.DiscardHandler)
	f := &fake{pipelines: []fleet.Status{good("a")}}
	h, err := NewAdmin(Options{
		Fleet: f, Trigger: f.trigger, Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Log: log,
		Token: func() string {
			return "program"
		},
		Login: login.New(login.Options{
			Settings: login.Settings{Issuer: issuer.URL, ClientID: logintest.ClientID, URL: service.URL,
				Claim: "groups", Read: []string{"readers"}, Act: []string{"actors"}},
			Key: func() string { return strings.Repeat("k", login.MinKey) }, ClientSecret: func() string {
				return logintest.ClientSecret
			},
			Client: http.DefaultClient, Log: log,
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", h)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar}, t, service.URL, f}
}

// send makes a request like a browser: through a link or form of the site, or with other headers.
func (b *browser) send(method, path string, header map[string]string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.service+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer, string(text)
}

func TestPeopleLogIn(t *testing.T) {
	for group, test := range map[string]struct {
		see, act, marked bool
	}{"readers": {true, false, true}, "actors": {true, true, false}, "others": {}} {
		t.Run(group, func(t *testing.T) {
			b := newBrowser(t, group)
			_, text := b.send("GET", "/pipelines/a", nil)
			if strings.Contains(text, "Log out</button>") != test.see ||
				strings.Contains(text, "Run a pass") != test.act ||
				strings.Contains(text, "(may only read)") != test.marked {
				t.Errorf("the page of a pipeline:\n%s", text)
			}
			b.send("POST", "/pipelines/a/pass", nil)
			b.send("POST", "/api/v1/reconcile", nil)
			if want := map[bool]int{true: 2}[test.act]; len(b.fleet.triggers) != want {
				t.Errorf("%d triggers", len(b.fleet.triggers))
			}
			if r, _ := b.send("GET", "/api/v1/pipelines/a",
				map[string]string{"Accept": "application/json"}); (r.StatusCode == 200) != test.see {
				t.Errorf("the JSON that the page links to: %d", r.StatusCode)
			}
			if test.see {
				if _, text := b.send("POST", "/logout", nil); !strings.Contains(text, "You are logged out") {
					t.Errorf("logged out:\n%s", text)
				}
				u, _ := url.Parse(b.service)
				if cookies := b.Jar.Cookies(u); len(cookies) > 0 {
					t.Errorf("cookies are left: %v", cookies)
				}
			}
		})
	}
}

// TestOtherSitesDoNotAct: a page of another site cannot use the session of its visitor.
func TestOtherSitesDoNotAct(t *testing.T) {
	b := newBrowser(t, "actors")
	b.send("GET", "/", nil)
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
		{"Sec-Fetch-Site": "", "Origin": "https://evil.example.com"}, {"Sec-Fetch-Site": "", "Origin": "null"},
	} {
		for _, path := range []string{"/pipelines/a/pass", "/api/v1/reconcile", "/logout"} {
			if r, _ := b.send("POST", path, header); r.StatusCode != http.StatusForbidden {
				t.Errorf("%s %v: %d", path, header, r.StatusCode)
			}
		}
	}
	if len(b.fleet.triggers) > 0 {
		t.Errorf("triggers: %v", b.fleet.triggers)
	}
	if _, text := b.send("GET", "/", nil); !strings.Contains(text, "Log out</button>") {
		t.Error("another site has ended the session")
	}
}

// TestWithoutASession: pages redirect to the login, and everything else requires a token, without asking for a
// password.
func TestWithoutASession(t *testing.T) {
	program := map[string]string{"Authorization": "Bearer program", "Accept": "", "Sec-Fetch-Mode": "",
		"Sec-Fetch-Site": ""}
	script := map[string]string{"Sec-Fetch-Mode": "cors"}
	for name, test := range map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"a page":                    {"GET", "/pipelines/a", nil, 303},
		"a page that a script asks": {"GET", "/", script, 401},
		"the button":                {"POST", "/pipelines/a/pass", nil, 401},
		"the API":                   {"GET", "/api/v1/pipelines", map[string]string{"Accept": "application/json"}, 401},
		"metrics":                   {"GET", "/metrics", map[string]string{"Accept": "text/plain"}, 401},
		"a wrong token": {"GET", "/metrics",
			map[string]string{"Authorization": "Bearer wrong", "Accept": "text/plain"}, 401},
		"metrics with the token": {"GET", "/metrics", program, 200},
		"a pass with the token":  {"POST", "/api/v1/reconcile", program, 202},
		"health":                 {"GET", "/healthz", nil, 200},
		"the style":              {"GET", "/console.css", nil, 200},
		"logged out":             {"GET", "/logout", nil, 200},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, "actors")
			b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			r, text := b.send(test.method, test.path, test.header)
			if r.StatusCode != test.want ||
				strings.Contains(strings.Join(r.Header.Values("WWW-Authenticate"), " "), "Basic") {
				t.Errorf("%d %v %s", r.StatusCode, r.Header, text)
			}
			if at := r.Header.Get("Location"); test.want == 303 && at != "/login?to=%2Fpipelines%2Fa" {
				t.Errorf("leads to %s", at)
			}
		})
	}
}
