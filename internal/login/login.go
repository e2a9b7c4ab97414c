// Package login lets people log in to the console with OpenID Connect: with the authorization code flow, PKCE, and
// go-oidc, which checks the ID tokens.
//
// A browser gets two cookies. One has the state of a login in progress, for ten minutes; the other one is the session,
// which ends no later than the ID token. Both are encrypted and authenticated with a key that replicas can share, so
// the server stores no sessions, and any replica can take the next request. Cookies are valid only under the settings
// with which they were written: changing the groups or the issuer ends all sessions.
//
// The issuer is needed only when somebody logs in. If it is unavailable, pages say so, and logged-in users notice
// nothing.
package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// loginTime limits the time that somebody may take to log in at the issuer, and maxSession the length of a
	// session.
	loginTime  = 10 * time.Minute
	maxSession = 12 * time.Hour
)

// Options has the dependencies of a login besides its settings.
type Options struct {
	Settings
	// ClientSecret returns the client's secret. If it is empty, the client is public, and PKCE alone protects the
	// code.
	ClientSecret func() string
	// Key returns the key that encrypts cookies: at least [MinKey] characters.
	Key func() string
	// Client makes the requests to the issuer.
	Client *http.Client
	Log    *slog.Logger
}

// Page is a page with one message.
type Page struct {
	Status      int
	Title, Text string
	Links       []Link
}

// Link is a link on a [Page].
type Link struct{ Text, Address string }

// Login handles logging in and out.
type Login struct {
	Options
	say func(http.ResponseWriter, *http.Request, Page)
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	issuer *issuer
	failed error     // why the issuer is unknown
	asked  time.Time // when the issuer was last asked
}

// New returns a login. It makes no requests.
func New(o Options) *Login { return &Login{Options: o, now: time.Now} }

// Handle adds the pages, which everybody may request. say writes them.
func (l *Login) Handle(mux *http.ServeMux, say func(http.ResponseWriter, *http.Request, Page)) {
	l.say = say
	mux.HandleFunc("GET /login", l.begin)
	mux.HandleFunc("GET "+callbackPath, l.callback)
	mux.HandleFunc("GET /logout", l.loggedOut)
	mux.Handle("POST /logout", http.NewCrossOriginProtection().Handler(http.HandlerFunc(l.logout)))
}

// Send redirects somebody who is not logged in to the issuer, and later back to the requested page.
func (l *Login) Send(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, loginLink(r.URL.RequestURI()), http.StatusSeeOther)
}

// Who returns the user whose session a request has.
func (l *Login) Who(r *http.Request) (p Person, ok bool) {
	var s session
	if !l.read(r, sessionCookie, &s) {
		return p, false
	}
	return s.Person, true
}

// attempt is a login in progress.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"`
}

// session is the session of a user.
type session struct {
	Person
}

func (l *Login) begin(w http.ResponseWriter, r *http.Request) {
	at, err := l.find(context.WithoutCancel(r.Context())) // others wait for the result
	if err != nil {
		l.away(w, r, err)
		return
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		To: local(r.URL.Query().Get("to"))}
	l.write(w, loginCookie, a, l.now().Add(loginTime))
	http.Redirect(w, r, l.client(at).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)),
		http.StatusSeeOther)
}

// client returns the client that agentry is at the issuer.
func (l *Login) client(at *issuer) *oauth2.Config {
	c := &oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret(), Endpoint: at.Endpoint(),
		RedirectURL: strings.TrimSuffix(l.URL, "/") + callbackPath,
		Scopes:      append([]string{oidc.ScopeOpenID}, l.Scopes...),
	}
	c.Endpoint.AuthStyle = at.authStyle(c.ClientSecret)
	return c
}

// callback handles the redirect from the issuer.
func (l *Login) callback(w http.ResponseWriter, r *http.Request) {
	var a attempt
	query := r.URL.Query()
	if !l.read(r, loginCookie, &a) || subtle.ConstantTimeCompare([]byte(a.State), []byte(query.Get("state"))) != 1 {
		l.notBegun(w, r)
		return
	}
	l.drop(w, loginCookie)
	if said := query.Get("error"); said != "" {
		l.Log.Info("the issuer refuses a login", "error", short(said))
		l.refuse(w, r, http.StatusForbidden, "The issuer did not log you in",
			"It says: "+short(said+" "+query.Get("error_description")))
		return
	}
	p, ends, err := l.redeem(r.Context(), query.Get("code"), a)
	if err != nil {
		l.Log.Error("a login failed", "err", err)
		l.refuse(w, r, http.StatusForbidden, "You are not logged in",
			"The issuer's response cannot be used: "+short(err.Error()))
		return
	}
	if !p.MayRead {
		l.Log.Info("a user without rights logged in", "name", p.Name)
		l.refuse(w, r, http.StatusForbidden, "You may not see this",
			fmt.Sprintf("You are logged in as %s, but nothing in your claim %q lets you in. Ask those who run agentry.",
				p.Name, l.Claim))
		return
	}
	l.Log.Info("a user logged in", "name", p.Name, "mayAct", p.MayAct)
	l.write(w, sessionCookie, session{p}, ends)
	http.Redirect(w, r, local(a.To), http.StatusSeeOther)
}

// notBegun answers a callback of a login other than the one in progress in this browser, which continues: opening two
// pages begins two logins, and the second one counts.
func (l *Login) notBegun(w http.ResponseWriter, r *http.Request) {
	if _, ok := l.Who(r); ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	l.refuse(w, r, http.StatusBadRequest, "This login did not begin here",
		"It may be older than ten minutes, already finished, or begun in another window or under another "+
			"address than "+l.URL+".")
}

// redeem exchanges a code for tokens, and returns the user and the end of the session.
func (l *Login) redeem(ctx context.Context, code string, a attempt) (p Person, ends time.Time, err error) {
	at, err := l.find(context.WithoutCancel(ctx))
	if err != nil {
		return p, ends, err
	}
	ctx = oidc.ClientContext(ctx, l.Client)
	token, err := l.client(at).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return p, ends, plain(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := at.VerifierContext(ctx, &oidc.Config{ClientID: l.ClientID, Now: l.now}).Verify(ctx, raw)
	if err != nil {
		return p, ends, plain(err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return p, ends, errors.New("the ID token is for another login: its nonce differs")
	}
	c := claims{}
	if err := id.Claims(&c); err != nil {
		return p, ends, plain(err)
	}
	if _, ok := c[l.Claim]; !ok && at.UserInfoEndpoint() != "" {
		if err := l.addUserInfo(ctx, at, token, id.Subject, c); err != nil {
			return p, ends, plain(err)
		}
	}
	ends = id.Expiry
	if latest := l.now().Add(maxSession); ends.After(latest) {
		ends = latest
	}
	return l.person(c), ends, nil
}

// addUserInfo adds the claims that the issuer returns only from its userinfo endpoint.
func (l *Login) addUserInfo(ctx context.Context, at *issuer, token *oauth2.Token, subject string, c claims) error {
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return err
	}
	if info.Subject != subject {
		return errors.New("userinfo is about another user than the ID token")
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return err
	}
	for name, value := range more {
		if _, ok := c[name]; !ok {
			c[name] = value
		}
	}
	return nil
}

// logout ends the session in this browser.
func (l *Login) logout(w http.ResponseWriter, r *http.Request) {
	l.drop(w, sessionCookie)
	http.Redirect(w, r, "/logout", http.StatusSeeOther)
}

func (l *Login) loggedOut(w http.ResponseWriter, r *http.Request) {
	if _, ok := l.Who(r); ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	l.refuse(w, r, http.StatusOK, "You are logged out",
		"You may still be logged in at the issuer; then logging in again asks for no password.")
}

// refuse shows a message to somebody who is not logged in.
func (l *Login) refuse(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	links := []Link{{"Log in", strings.TrimSuffix(l.URL, "/") + "/login"}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.issuer != nil && l.issuer.EndSession != "" {
		links = append(links, Link{"Log out of the issuer", l.issuer.EndSession})
	}
	l.say(w, r, Page{status, title, text, links})
}

func (l *Login) away(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Retry-After", "10")
	l.say(w, r, Page{http.StatusServiceUnavailable, "Nobody can log in at present",
		"The issuer " + l.Issuer + " does not work: " + short(err.Error()) +
			". agentry itself keeps working.",
		[]Link{{"Try again", loginLink(local(r.URL.Query().Get("to")))}}})
}

func loginLink(to string) string { return "/login?" + url.Values{"to": {local(to)}}.Encode() }

// local returns an address on this site: the given one, or the first page.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > 1024 || u.Scheme != "" || u.Host != "" || strings.Contains(to, `\`) ||
		!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return to
}
