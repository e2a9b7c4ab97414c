package login

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/logintest"
)

// site is a site with logins, and its log.
type site struct {
	*Login
	server *httptest.Server
	log    *bytes.Buffer
}

// newSite serves a page that shows who is logged in. The group readers may look, and the group actors may act.
func newSite(t *testing.T, issuer string, changes ...func(*Options)) *site {
	t.Helper()
	s := &site{log: &bytes.Buffer{}}
	mux := http.NewServeMux()
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.Close)
	client, err := new(httpclient.Pool).Client(httpclient.Connection{},
		httpclient.Options{Timeout: 10 * time.Second, MaxAnswerBytes: 1 << 20, Allow: Allow})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Settings: Settings{
			Issuer: issuer, ClientID: logintest.ClientID, URL: s.server.URL, Scopes: []string{"profile"},
			Claim: "groups", Read: []string{"readers"}, Act: []string{"actors"},
		},
		ClientSecret: func() string { return logintest.ClientSecret }, Key: func() string {
			return strings.Repeat("k", MinKey)
		},
		Client: client, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	for _, change := range changes {
		change(&o)
	}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	s.Login = New(o)
	s.Handle(mux, func(w http.ResponseWriter, _ *http.Request, p Page) {
		w.WriteHeader(p.Status)
		_, _ = fmt.Fprintln(w, p)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p, ok := s.Who(r)
		if !ok {
			s.Send(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, "%s at %s, acts: %v", p.Name, r.URL.RequestURI(), p.MayAct)
	})
	return s
}

// browser keeps cookies, and follows redirects. It records the addresses.
type browser struct {
	*http.Client
	t    *testing.T
	jar  *cookiejar.Jar
	seen []string
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, jar: jar}
	b.Client = &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		b.seen = append(b.seen, r.URL.String())
		return nil
	}}
	return b
}

// open returns the page at an address.
func (b *browser) open(address string) (status int, text string) {
	b.t.Helper()
	b.seen = []string{address}
	return b.read(b.Get(address))
}

func (b *browser) read(r *http.Response, err error) (status int, text string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.StatusCode, string(all)
}

// last returns the last address with a prefix.
func (b *browser) last(prefix string) string {
	b.t.Helper()
	for i := len(b.seen) - 1; i >= 0; i-- {
		if strings.HasPrefix(b.seen[i], prefix) {
			return b.seen[i]
		}
	}
	b.t.Fatalf("never at %s: %q", prefix, b.seen)
	return ""
}

// cookie returns the value of a cookie that the browser has for a site.
func (b *browser) cookie(s *site, name string) string {
	u, _ := url.Parse(s.server.URL)
	for _, c := range b.jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (b *browser) setCookie(s *site, name, value string) {
	u, _ := url.Parse(s.server.URL)
	b.jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// TestWhoMayDoWhat: the claim decides, wherever the issuer puts it.
func TestWhoMayDoWhat(t *testing.T) {
	for name, test := range map[string]struct {
		claims, userInfo map[string]any
		change           func(*Options)
		status           int
		says             string
	}{
		"a reader": {claims: map[string]any{"groups": []string{"x", "readers"}}, status: 200,
			says: "ada at /a?b=c, acts: false"},
		"an actor": {claims: map[string]any{"groups": []string{"actors"}}, status: 200,
			says: "ada at /a?b=c, acts: true"},
		"a claim that is one text": {claims: map[string]any{"groups": "actors"}, status: 200,
			says: "acts: true"},
		"a claim of userinfo": {userInfo: map[string]any{"sub": "0001", "groups": []string{"actors"}},
			status: 200, says: "acts: true"},
		"userinfo does not overrule": {claims: map[string]any{"groups": []string{}},
			userInfo: map[string]any{"sub": "0001", "groups": []string{"actors"}}, status: 403,
			says: "You may not see this"},
		"userinfo of somebody else": {userInfo: map[string]any{"sub": "0002", "groups": []string{"actors"}},
			status: 403, says: "another user"},
		"no group": {userInfo: map[string]any{"sub": "0001"}, status: 403,
			says: "You may not see this"},
		"another group": {claims: map[string]any{"groups": []string{"Actors", "actors ", "reader"}},
			status: 403, says: "logged in as ada"},
		"a claim of another kind": {claims: map[string]any{"groups": map[string]any{"actors": true}},
			status: 403, says: "You may not see this"},
		"a group called *": {claims: map[string]any{"groups": []string{"*"}}, status: 403,
			says: "You may not see this"},
		"everybody may read": {claims: map[string]any{"groups": []string{}}, change: func(o *Options) {
			o.Read = []string{Everybody}
		}, status: 200, says: "acts: false"},
		"an address": {claims: map[string]any{"email": "ada@example.com", "email_verified": true},
			change: byAddress, status: 200, says: "acts: true"},
		"an address that is not verified": {claims: map[string]any{"email": "ada@example.com",
			"email_verified": false}, change: byAddress, status: 403, says: "You may not see this"},
		"nor in the words of some issuers": {claims: map[string]any{"email": "ada@example.com",
			"email_verified": "false"}, change: byAddress, status: 403, says: "You may not see this"},
		"a name of many lines": {claims: map[string]any{"preferred_username": "a\nb\x1b[31m",
			"groups": "actors"}, status: 200, says: "a b [31m at"},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := logintest.New(t)
			issuer.Claims, issuer.UserInfo = test.claims, test.userInfo
			change := test.change
			if change == nil {
				change = func(*Options) {}
			}
			s, b := newSite(t, issuer.URL, change), newBrowser(t)
			status, text := b.open(s.server.URL + "/a?b=c")
			if status != test.status || !strings.Contains(text, test.says) {
				t.Errorf("%d %s\n%s", status, text, s.log)
			}
			if in := b.cookie(s, sessionCookie) != ""; in != (status == 200) {
				t.Errorf("a session: %v", in)
			}
			if b.cookie(s, loginCookie) != "" {
				t.Error("the cookie of the login is left")
			}
		})
	}
}

func byAddress(o *Options) { o.Claim, o.Act = "email", []string{"ada@example.com"} }

// TestTokensThatDoNotCount: such tokens are refused, and neither page nor log shows a secret.
func TestTokensThatDoNotCount(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*testing.T, *logintest.Issuer)
		says   string
	}{
		"for another client": {func(_ *testing.T, i *logintest.Issuer) { i.Claims["aud"] = "other" }, "audience"},
		"of another issuer": {func(_ *testing.T, i *logintest.Issuer) {
			i.Claims["iss"] = "https://evil.example.com"
		}, "different provider"},
		"expired": {func(_ *testing.T, i *logintest.Issuer) {
			i.Claims["exp"] = time.Now().Add(-time.Second).Unix()
		}, "expired"},
		"signed by another key": {func(t *testing.T, i *logintest.Issuer) {
			i.Key = logintest.NewKey(t)
		}, "signature"},
		"for another login": {func(_ *testing.T, i *logintest.Issuer) { i.Claims["nonce"] = "other" }, "nonce"},
		"refused by the issuer": {func(_ *testing.T, i *logintest.Issuer) {
			i.Refuse = "access_denied"
		}, "access_denied"},
		"for who has no nonce": {func(_ *testing.T, i *logintest.Issuer) { i.Claims["nonce"] = "" }, "nonce"},
		"without an end":       {func(_ *testing.T, i *logintest.Issuer) { i.Claims["exp"] = nil }, "expired"},
		"valid in the future only": {func(_ *testing.T, i *logintest.Issuer) {
			i.Claims["nbf"] = time.Now().Add(time.Hour).Unix()
		}, "nbf"},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := logintest.New(t)
			issuer.Claims["groups"] = "actors"
			test.change(t, issuer)
			s, b := newSite(t, issuer.URL), newBrowser(t)
			status, text := b.open(s.server.URL + "/")
			if status != http.StatusForbidden || !strings.Contains(text, test.says) {
				t.Errorf("%d %s", status, text)
			}
			if b.cookie(s, sessionCookie) != "" {
				t.Error("there is a session")
			}
			if all := text + s.log.String(); strings.Contains(all, "s3cret") || strings.Contains(all, "eyJ") {
				t.Errorf("a secret: %s", all)
			}
		})
	}
}

// TestALoginCountsOnce: neither an old callback nor one from another browser leads to a session.
func TestALoginCountsOnce(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	s, b := newSite(t, issuer.URL), newBrowser(t)
	var begun string // cookie of the login
	follow := b.CheckRedirect
	b.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Path == callbackPath {
			begun = b.cookie(s, loginCookie)
		}
		return follow(r, via)
	}
	if status, text := b.open(s.server.URL + "/"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	callback := b.last(s.server.URL + callbackPath)

	again := newBrowser(t)
	if status, text := again.open(callback); status != 400 || !strings.Contains(text, "did not begin here") {
		t.Errorf("without the cookie: %d %s", status, text)
	}
	again.setCookie(s, loginCookie, begun)
	if status, text := again.open(callback); status != 403 || !strings.Contains(text, "invalid_grant") {
		t.Errorf("with the cookie: %d %s", status, text)
	}
	again.setCookie(s, loginCookie, begun)
	if status, text := again.open(strings.Replace(callback, "state=", "state=X", 1)); status != 400 {
		t.Errorf("with another state: %d %s", status, text)
	}
	again.setCookie(s, loginCookie, b.cookie(s, sessionCookie))
	if status, text := again.open(callback); status != 400 {
		t.Errorf("with another cookie of ours: %d %s", status, text)
	}
	s.now = func() time.Time { return time.Now().Add(loginTime + time.Second) }
	again.setCookie(s, loginCookie, begun)
	if status, text := again.open(callback); status != 400 {
		t.Errorf("too late: %d %s", status, text)
	}
}

// TestTwoPagesAtOnce: a browser that opens two pages begins two logins, and the second one counts, in whatever order
// they end.
func TestTwoPagesAtOnce(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s, b := newSite(t, issuer.URL), newBrowser(t)
		follow := b.CheckRedirect
		b.CheckRedirect = func(r *http.Request, via []*http.Request) error {
			if r.URL.Path == callbackPath {
				return http.ErrUseLastResponse
			}
			return follow(r, via)
		}
		var callbacks []string
		for _, page := range []string{"/a", "/b"} {
			r, err := b.Get(s.server.URL + page)
			if err != nil {
				t.Fatal(err)
			}
			_ = r.Body.Close()
			callbacks = append(callbacks, r.Header.Get("Location"))
		}
		b.CheckRedirect = follow
		says := map[int]string{}
		for _, i := range order {
			_, says[i] = b.open(callbacks[i])
		}
		if !strings.Contains(says[1], "ada at /b, acts: true") {
			t.Errorf("in order %v, the second says %q", order, says[1])
		}
		if want := map[bool]string{true: "ada at /, acts: true", false: "did not begin here"}[order[0] ==
			1]; !strings.Contains(says[0], want) {
			t.Errorf("in order %v, the first says %q, want %q", order, says[0], want)
		}
	}
}

// TestSessions: cookies that are changed, too old, or made with another key or other settings are not valid. A cookie
// from another replica is.
func TestSessions(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	issuer.Claims["exp"] = time.Now().Add(5 * time.Minute).Unix()
	s, b := newSite(t, issuer.URL), newBrowser(t)
	if status, text := b.open(s.server.URL + "/"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	good := b.cookie(s, sessionCookie)
	who := func(l *Login, value string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
		_, ok := l.Who(r)
		return ok
	}
	replica := func(change func(*Options)) *Login {
		o := s.Options
		change(&o)
		return New(o)
	}
	if !who(s.Login, good) || !who(replica(func(*Options) {}), good) {
		t.Error("no session with the same key")
	}
	for i := range good {
		c := byte('A')
		if good[i] == c {
			c = 'Q' // also differs in a significant bit of the last character
		}
		if changed := good[:i] + string(c) + good[i+1:]; who(s.Login, changed) {
			t.Errorf("character %d may change", i)
		}
	}
	for name, value := range map[string]string{"nothing": "", "no base64": "!!", "short": "AAAA",
		"cut": good[:len(good)-4], "longer": good + "AAAA"} {
		if who(s.Login, value) {
			t.Errorf("a session: %s", name)
		}
	}
	for name, change := range map[string]func(*Options){
		"another key":    func(o *Options) { o.Key = func() string { return strings.Repeat("x", MinKey) } },
		"another issuer": func(o *Options) { o.Issuer = "https://other.example.com" },
		"other groups":   func(o *Options) { o.Act = []string{"others"} },
		"another client": func(o *Options) { o.ClientID = "other" },
	} {
		if who(replica(change), good) {
			t.Errorf("a session with %s", name)
		}
	}
	late := replica(func(*Options) {})
	late.now = func() time.Time { return time.Now().Add(5 * time.Minute) }
	if who(late, good) {
		t.Error("the session outlives the ID token")
	}
}

// TestNoSessionIsEndless holds that sessions end, whatever the issuer says.
func TestNoSessionIsEndless(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	issuer.Claims["exp"] = time.Now().AddDate(10, 0, 0).Unix()
	s, b := newSite(t, issuer.URL), newBrowser(t)
	if status, text := b.open(s.server.URL + "/"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	s.now = func() time.Time { return time.Now().Add(maxSession) }
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: b.cookie(s, sessionCookie)})
	if _, ok := s.Who(r); ok {
		t.Error("the session goes on")
	}
}

func TestLogout(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	s, b := newSite(t, issuer.URL), newBrowser(t)
	if status, text := b.open(s.server.URL + "/"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	evil, _ := http.NewRequest(http.MethodPost, s.server.URL+"/logout", nil)
	evil.Header.Set("Sec-Fetch-Site", "cross-site")
	if status, _ := b.read(b.Do(evil)); status != 403 || b.cookie(s, sessionCookie) == "" {
		t.Errorf("another site logs out: %d", status)
	}
	status, text := b.read(b.Post(s.server.URL+"/logout", "", nil))
	if status != 200 || !strings.Contains(text, "You are logged out") || !strings.Contains(text, issuer.URL+"/end") ||
		b.cookie(s, sessionCookie) != "" {
		t.Errorf("%d %s", status, text)
	}
}

// TestTheIssuerIsAway: pages say so, and logging in works as soon as it is back.
func TestTheIssuerIsAway(t *testing.T) {
	issuer := logintest.New(t)
	issuer.Claims["groups"] = "actors"
	target, _ := url.Parse(issuer.URL)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "s3cret: upstream\x1b[31m is down", http.StatusBadGateway)
	}))
	t.Cleanup(away.Close)
	s, b := newSite(t, away.URL), newBrowser(t)
	status, text := b.open(s.server.URL + "/")
	if status != 503 || !strings.Contains(text, "Nobody can log in") || !strings.Contains(text, "502") ||
		strings.Contains(text, "\x1b") {
		t.Errorf("%d %q", status, text)
	}
	s.Login.Issuer, s.asked = target.String(), time.Time{}
	if status, text := b.open(s.server.URL + "/"); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	lying := newSite(t, issuer.URL+"/")
	if status, text := newBrowser(t).open(lying.server.URL + "/"); status != 503 ||
		!strings.Contains(text, "did not match") {
		t.Errorf("an issuer with another name: %d %s", status, text)
	}
}

// TestCookiesOverTLS holds that cookies are only for this host, only for https, and not for scripts.
func TestCookiesOverTLS(t *testing.T) {
	issuer := logintest.New(t)
	s := newSite(t, issuer.URL, func(o *Options) { o.URL = "https://agentry.example.com" })
	w := httptest.NewRecorder()
	s.begin(w, httptest.NewRequest(http.MethodGet, "/login", nil))
	at, err := url.Parse(w.Header().Get("Location"))
	if err != nil || at.Query().Get("redirect_uri") != "https://agentry.example.com/login/callback" ||
		at.Query().Get("scope") != "openid profile" {
		t.Errorf("%v %v", at, err)
	}
	for _, c := range w.Result().Cookies() {
		if c.Name != "__Host-"+loginCookie || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode ||
			c.Path != "/" || c.Domain != "" || c.MaxAge < 590 || c.MaxAge > 600 {
			t.Errorf("%+v", c)
		}
	}
	if len(w.Result().Cookies()) != 1 {
		t.Error("no cookie")
	}
}

// TestLocal: a login never redirects to another site.
func TestLocal(t *testing.T) {
	for to, want := range map[string]string{
		"/pipelines/a?b=c": "/pipelines/a?b=c", "/": "/", "": "/", "//evil.example.com": "/",
		"/\\evil.example.com": "/", "https://evil.example.com/": "/",
		"evil": "/", "/\t/evil.example.com": "/", "///evil.example.com": "/", "/%2F/evil.example.com": "/",
		"javascript:alert(1)": "/", "/" + strings.Repeat("a", 2000): "/",
	} {
		if got := local(to); got != want {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

func TestSettings(t *testing.T) {
	good := Settings{Issuer: "https://id.example.com/realms/a", ClientID: "agentry",
		URL: "https://agentry.example.com/", Claim: "groups", Act: []string{"sre"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		"the issuer http://id.example.com must use https": func(s *Settings) { s.Issuer = "http://id.example.com/x" },
		"is not a URL":                    func(s *Settings) { s.Issuer = "id.example.com" },
		"must not contain a user name":    func(s *Settings) { s.Issuer = "https://a:b@id.example.com" },
		`the URL of the console "" is no`: func(s *Settings) { s.URL = "" },
		"only scheme, host and port":      func(s *Settings) { s.URL = "https://example.com/agentry" },
		"client ID of agentry":            func(s *Settings) { s.ClientID = "" },
		"no claim":                        func(s *Settings) { s.Claim = "" },
		"nobody may log in":               func(s *Settings) { s.Act = nil },
		"a value of the claim is empty":   func(s *Settings) { s.Read = []string{""} },
	} {
		s := good
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
