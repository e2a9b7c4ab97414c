package browser

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"

	"github.com/agentry-dev/agentry/gitsync/fleet"
	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/internal/server"
)

// The client that the issuer knows, and the password of its people: test-user@127.0.0.1 and test-user2.
const (
	clientID     = "agentry"
	clientSecret = "the secret of the client"
	password     = "verysecure"
)

// people are those of Zitadel's example, some of them in groups.
type people struct {
	*storage.Storage
	groups map[string][]string // by the subject
}

// SetUserinfoFromToken tells the groups at the userinfo endpoint, where issuers tell what is long.
func (p people) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	info.AppendClaims("groups", p.groups[subject])
	return p.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
}

// issuer starts Zitadel's OpenID Connect issuer, with its own page to log in. It sends people back to a service.
func issuer(t *testing.T, service string) *httptest.Server {
	t.Helper()
	var handler atomic.Value
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.Load().(http.Handler).ServeHTTP(w, r)
	}))
	client := storage.WebClient(clientID, clientSecret, service+"/login/callback")
	known := people{storage.NewStorageWithClients(storage.NewUserStore(s.URL),
		map[string]*storage.Client{clientID: client}),
		map[string][]string{"id1": {"actors"}, "id2": {"readers"}}}
	handler.Store(http.Handler(exampleop.SetupServer(s.URL, known, slog.New(slog.NewTextHandler(io.Discard, nil)),
		false)))
	return s
}

// TestPeopleLogIn does so in a real browser, at a real issuer.
func TestPeopleLogIn(t *testing.T) {
	browser := chromium(t)
	var handler atomic.Value
	service := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.Load().(http.Handler).ServeHTTP(w, r)
	}))
	at := issuer(t, service.URL)
	var passes atomic.Int64
	h, err := server.NewAdmin(server.Options{
		Fleet: standing{pipelines: []fleet.Status{running("prod-eu")}}, Trigger: func(fleet.Trigger) { passes.Add(1) },
		Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		Login: login.New(login.Options{
			Settings: login.Settings{Issuer: at.URL, ClientID: clientID, URL: service.URL,
				Scopes: []string{"profile", "email"}, Claim: "groups", Read: []string{"readers"},
				Act: []string{"actors"}},
			Key: func() string { return strings.Repeat("k", login.MinKey) }, ClientSecret: func() string {
				return clientSecret
			},
			Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler),
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	handler.Store(h)

	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	text := func() string { return get(t, tab, chromedp.Evaluate[string]("document.body?.innerText ?? ''")) }
	const button = `document.querySelector('#act button') !== null`
	for _, someone := range []struct {
		name string
		acts bool
	}{{"test-user@127.0.0.1", true}, {"test-user2", false}} {
		do(t, tab,
			chromedp.Navigate(service.URL+"/pipelines/prod-eu"),
			chromedp.SendKeys("#username", someone.name), chromedp.SendKeys("#password", password),
			chromedp.Click("button[type=submit]"),
			chromedp.WaitVisible(".user button"),
		)
		if here := get(t, tab, chromedp.Evaluate[string]("location.href")); here != service.URL+"/pipelines/prod-eu" {
			t.Errorf("%s is led to %s", someone.name, here)
		}
		if page := text(); !strings.Contains(page, someone.name) ||
			get(t, tab, chromedp.Evaluate[bool](button)) != someone.acts ||
			strings.Contains(page, "(may only read)") == someone.acts {
			t.Errorf("%s sees\n%s", someone.name, page)
		}
		if cookies := get(t, tab, chromedp.Evaluate[string]("document.cookie")); cookies != "" {
			t.Errorf("scripts can read %q", cookies)
		}
		if someone.acts {
			do(t, tab, chromedp.Click("#act button"), chromedp.WaitVisible("#asked"))
		}
		for _, l := range looks() {
			s := visit(t, browser, service.URL+"/pipelines/prod-eu", l) // a tab of the same browser
			for _, complaint := range s.complaints() {
				t.Errorf("%s: %s", l, complaint)
			}
			s.picture(t, "logged-in-"+someone.name+"-"+l.String())
		}
		do(t, tab, chromedp.Click(".user button"), chromedp.WaitVisible("main a"))
		// The page before has links too, and between the two there is no page.
		for deadline := time.Now().Add(10 * time.Second); !strings.Contains(text(),
			"You are logged out"); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after the log out:\n%s", text())
			}
		}
	}
	if passes.Load() != 1 {
		t.Errorf("%d passes", passes.Load())
	}
	for _, l := range looks() {
		s := visit(t, browser, service.URL+"/logout", l)
		for _, complaint := range s.complaints() {
			t.Errorf("logged out, %s: %s", l, complaint)
		}
		s.picture(t, "logged-out-"+l.String())
	}
}
