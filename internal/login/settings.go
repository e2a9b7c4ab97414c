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

// callbackPath is the path to which the issuer redirects, below the URL of the console.
const callbackPath = "/login/callback"

// MinKey is the minimum length of the key for sessions, in characters.
const MinKey = 32

// Everybody is the claim value that stands for everybody who logs in.
const Everybody = "*"

// Settings choose who may log in, and where.
type Settings struct {
	// Issuer is the URL of the OpenID Connect issuer, exactly as the issuer spells it.
	Issuer   string
	ClientID string
	// URL is the address of the console: scheme, host and port.
	URL string
	// Scopes are requested besides openid.
	Scopes []string
	// Claim is the claim that decides about rights. Users with one of the values Act may see everything and start
	// passes; users with one of Read may see everything.
	Claim     string
	Read, Act []string
}

// Check returns the first mistake in the settings.
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
		return errors.New("the URL of the console must have only scheme, host and port: agentry has its pages at /")
	case s.ClientID == "":
		return errors.New("the client ID of agentry at the issuer is missing")
	case s.Claim == "":
		return errors.New("no claim is set that decides who may do what")
	case len(s.Read)+len(s.Act) == 0:
		return errors.New("nobody may log in: set values of the claim, or * for everybody whom the issuer logs in")
	case slices.Contains(s.Read, "") || slices.Contains(s.Act, ""):
		return errors.New("a value of the claim is empty")
	}
	return nil
}

// checkURL accepts https URLs, and http URLs on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is not a URL such as https://example.com", text)
	case u.User != nil:
		return errors.New("must not contain a user name or password")
	}
	return Allow(u)
}

// Allow refuses http URLs, except on this machine, because others could read the traffic.
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

// secure reports whether cookies are limited to https.
func (s Settings) secure() bool { return strings.HasPrefix(strings.ToLower(s.URL), "https:") }
