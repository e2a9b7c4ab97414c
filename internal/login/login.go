// Package login lets people log in to the console with OpenID Connect: by the authorization code flow with PKCE, with
// go-oidc, which checks the ID tokens.
//
// A browser gets two cookies. One holds what a login that is under way needs, for ten minutes; the other one is the
// session, which ends no later than the ID token. Both are encrypted and authenticated with a key that replicas can
// share, so nothing about sessions is kept here, and any replica can take the next request. What the cookies hold
// counts only under the settings with which it was written: other groups or another issuer end all sessions.
//
// The issuer is asked when somebody logs in. If it is away, pages say so, and those who are logged in notice nothing.
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
	// loginTime is how long somebody may take to log in at the issuer, and maxSession how long nobody has to log in
	// again.
	loginTime  = 10 * time.Minute
	maxSession = 12 * time.Hour
)

// Options are what a login needs besides its settings.
type Options struct {
	Settings
	// ClientSecret is the client's. If it returns nothing, the client is public, and PKCE alone protects the code.
	ClientSecret func() string
	// Key is what cookies are encrypted with: at least [MinKey] characters.
	Key func() string
	// Client asks the issuer.
	Client *http.Client
	Log    *slog.Logger
}

// Page is a page that says one thing.
type Page struct {
	Status      int
	Title, Text string
	Links       []Link
}

// Link leads from a [Page] to another one.
type Link struct{ Text, Address string }

// Login is where people log in and out.
type Login struct {
	Options
	say func(http.ResponseWriter, *http.Request, Page)
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	issuer *issuer
	failed error     // why there is no issuer
	asked  time.Time // when it was asked last
}

// New returns a login. It contacts nobody.
func New(o Options) *Login { return &Login{Options: o, now: time.Now} }

// Handle adds the pages, which everybody may ask for. The function say makes them.
func (l *Login) Handle(mux *http.ServeMux, say func(http.ResponseWriter, *http.Request, Page)) {
	l.say = say
	mux.HandleFunc("GET /login", l.begin)
	mux.HandleFunc("GET "+callbackPath, l.callback)
	mux.HandleFunc("GET /logout", l.loggedOut)
	mux.Handle("POST /logout", http.NewCrossOriginProtection().Handler(http.HandlerFunc(l.logout)))
}

// Send sends somebody who is not logged in to the issuer, and later back to the page that was asked for.
func (l *Login) Send(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, loginLink(r.URL.RequestURI()), http.StatusSeeOther)
}

// Who returns the person whose session a request has.
func (l *Login) Who(r *http.Request) (p Person, ok bool) {
	var s session
	if !l.read(r, sessionCookie, &s) {
		return p, false
	}
	return s.Person, true
}

// attempt is a login that is under way.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"`
}

// session is somebody who is logged in.
type session struct {
	Person
}

func (l *Login) begin(w http.ResponseWriter, r *http.Request) {
	at, err := l.find(context.WithoutCancel(r.Context())) // others wait for the answer
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

// client is what the issuer knows agentry as.
func (l *Login) client(at *issuer) *oauth2.Config {
	c := &oauth2.Config{
		ClientID: l.ClientID, ClientSecret: l.ClientSecret(), Endpoint: at.Endpoint(),
		RedirectURL: strings.TrimSuffix(l.URL, "/") + callbackPath,
		Scopes:      append([]string{oidc.ScopeOpenID}, l.Scopes...),
	}
	c.Endpoint.AuthStyle = at.authStyle(c.ClientSecret)
	return c
}

// callback is where the issuer sends people back to.
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
			"The issuer's answer cannot be used: "+short(err.Error()))
		return
	}
	if !p.MayRead {
		l.Log.Info("somebody logged in who may not see anything", "name", p.Name)
		l.refuse(w, r, http.StatusForbidden, "You may not see this",
			fmt.Sprintf("You are logged in as %s, but nothing in your claim %q lets you in. Ask those who run agentry.",
				p.Name, l.Claim))
		return
	}
	l.Log.Info("somebody logged in", "name", p.Name, "mayAct", p.MayAct)
	l.write(w, sessionCookie, session{p}, ends)
	http.Redirect(w, r, local(a.To), http.StatusSeeOther)
}

// notBegun answers a callback of another login than the one that is under way in this browser. That one goes on:
// whoever opens two pages begins two logins, and the second one counts.
func (l *Login) notBegun(w http.ResponseWriter, r *http.Request) {
	if _, ok := l.Who(r); ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	l.refuse(w, r, http.StatusBadRequest, "This login was not begun here",
		"It may be more than ten minutes old, or finished already, or begun in another window or under another "+
			"address than "+l.URL+".")
}

// redeem asks the issuer for the tokens of a code, and returns who they are for, and when that ends.
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

// addUserInfo adds the claims that the issuer tells only at its userinfo endpoint.
func (l *Login) addUserInfo(ctx context.Context, at *issuer, token *oauth2.Token, subject string, c claims) error {
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return err
	}
	if info.Subject != subject {
		return errors.New("userinfo is about somebody else than the ID token")
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
		"At the issuer you may be logged in still: then logging in again asks for no password.")
}

// refuse says something to somebody who is not logged in.
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
		"The issuer " + l.Issuer + " does not answer as it should: " + short(err.Error()) +
			". agentry itself works on.",
		[]Link{{"Try again", loginLink(local(r.URL.Query().Get("to")))}}})
}

func loginLink(to string) string { return "/login?" + url.Values{"to": {local(to)}}.Encode() }

// local returns an address on this site: the one that is given, or that of the first page.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > 1024 || u.Scheme != "" || u.Host != "" || strings.Contains(to, `\`) ||
		!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return to
}
