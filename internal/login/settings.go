package login

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// callbackPath is where the issuer sends people back to, below the URL of the console.
const callbackPath = "/login/callback"

// MinKey is how many characters the key of sessions must have.
const MinKey = 32

// Everybody is the value of a claim that whoever logs in has.
const Everybody = "*"

// Settings say who may log in, and where.
type Settings struct {
	// Issuer is the URL of the OpenID Connect issuer, as it calls itself.
	Issuer   string
	ClientID string
	// URL is where people reach the console: scheme, host and port.
	URL string
	// Scopes are asked for besides openid.
	Scopes []string
	// Claim is what decides who may do what. Those with one of the values Act may see everything and start passes;
	// those with one of Read may see everything.
	Claim     string
	Read, Act []string
}

// Check says what is wrong with the settings.
func (s Settings) Check() error {
	if err := checkURL(s.Issuer); err != nil {
		return fmt.Errorf("the issuer %w", err)
	}
	if err := checkURL(s.URL); err != nil {
		return fmt.Errorf("the URL of the console %w", err)
	}
	u, _ := url.Parse(s.URL)
	switch {
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL of the console is scheme, host and port only: agentry has its pages at /")
	case s.ClientID == "":
		return errors.New("the client ID is missing, by which the issuer knows agentry")
	case s.Claim == "":
		return errors.New("no claim says who may do what")
	case len(s.Read)+len(s.Act) == 0:
		return errors.New("nobody may log in: name values of the claim, or * for whoever the issuer logs in")
	case slices.Contains(s.Read, "") || slices.Contains(s.Act, ""):
		return errors.New("a value of the claim is empty")
	}
	return nil
}

// checkURL accepts https, and http on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is no URL such as https://example.com", text)
	case u.User != nil:
		return errors.New("must not contain a user name or password")
	}
	return Allow(u)
}

// Allow refuses addresses where others can read what is sent: http, but on this machine.
func Allow(u *url.URL) error {
	if u.Scheme == "https" || isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s must use https: http is for loopback only",
		(&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
}

func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// secure reports whether cookies are only for https.
func (s Settings) secure() bool { return strings.HasPrefix(strings.ToLower(s.URL), "https:") }
