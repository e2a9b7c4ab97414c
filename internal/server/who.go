package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/agentry-dev/agentry/internal/console"
	"github.com/agentry-dev/agentry/internal/login"
)

// personKey is the context key for the sender of a request.
type personKey struct{}

// who returns the sender of a request. It is nobody before the request has passed the guard.
func who(r *http.Request) console.Person {
	p, _ := r.Context().Value(personKey{}).(console.Person)
	return p
}

// acting refuses requests whose sender may only read.
func acting(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !who(r).MayAct {
			answer(w, http.StatusForbidden,
				Problem{"you may read, but not start passes",
					"use the token of --bearer-token-file, or log in as a user who may"})
			return
		}
		next(w, r)
	}
}

// letIn adds the login pages, and the files that they load.
func (a *admin) letIn(open *http.ServeMux, say func(http.ResponseWriter, *http.Request, console.Message)) {
	if a.Login == nil {
		return
	}
	a.Login.Handle(open, func(w http.ResponseWriter, r *http.Request, p login.Page) {
		m := console.Message{Status: p.Status, Title: p.Title, Hint: p.Text}
		for _, l := range p.Links {
			m.Links = append(m.Links, console.Link(l))
		}
		say(w, r, m)
	})
	console.Files(open)
}

// guard accepts requests with a token or a session. If neither is configured, it accepts requests to a loopback host.
func (a *admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := a.identify(r)
		switch {
		case ok:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, p)))
		case a.isOpen():
			http.Error(w, "use localhost, 127.0.0.1 or [::1]; other names need a bearer token file",
				http.StatusForbidden)
		case a.Login != nil && isVisit(r):
			a.Login.Send(w, r)
		case a.Login != nil:
			// A browser must not ask for a password: people log in.
			w.Header().Set("WWW-Authenticate", `Bearer realm="agentry"`)
			http.Error(w, "log in with a browser, or send a bearer token", http.StatusUnauthorized)
		default:
			w.Header().Add("WWW-Authenticate", `Bearer realm="agentry"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="agentry: the token is the password"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
		}
	})
}

// isOpen reports whether everybody on this machine may do everything.
func (a *admin) isOpen() bool { return a.Token == nil && a.ReadToken == nil && a.Login == nil }

// identify returns the sender of a request, if they may see anything.
func (a *admin) identify(r *http.Request) (p console.Person, ok bool) {
	switch {
	case a.isOpen():
		return console.Person{MayAct: true}, namesLoopback(r.Host)
	case a.Token != nil && carries(r, a.Token()):
		return console.Person{MayAct: true}, true
	case a.ReadToken != nil && carries(r, a.ReadToken()):
		return p, true
	case a.Login != nil:
		someone, in := a.Login.Who(r)
		return console.Person{User: someone.Name, MayAct: someone.MayAct}, in && someone.MayRead
	}
	return p, false
}

// isVisit reports whether a browser opens a page, so that the user can be redirected to the login. Requests of scripts
// and programs are refused.
func isVisit(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (mode == "" || mode == "navigate") &&
		strings.Contains(r.Header.Get("Accept"), "text/html")
}
