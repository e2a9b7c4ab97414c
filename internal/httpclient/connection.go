// Package httpclient makes the HTTP clients for everything that agentry calls: forges, registries, receivers of
// notifications, and the tokens of GitHub Apps. Git over HTTP uses its connections.
//
// A client has the certificates and the proxy of its [Connection], and the limits of its [Options]: every step of a
// request and every answer is bounded, redirects stay within the site, and addresses that are not allowed get no byte.
// Errors name hosts and never a secret.
package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Connection is how servers are reached: whom to trust, which certificate to show, and through which proxy. The zero
// value trusts the system's authorities and uses the proxy of the environment.
type Connection struct {
	// CAPEM holds certificates that a server's chain may end in, besides the system's.
	CAPEM []byte
	// ClientCertPEM and ClientKeyPEM are shown to servers that ask who we are.
	ClientCertPEM []byte
	ClientKeyPEM  []byte
	// ProxyURL is what connections go through: scheme http, https or socks5. Empty: what HTTPS_PROXY, HTTP_PROXY and
	// NO_PROXY say.
	ProxyURL      string
	ProxyUsername string
	ProxyPassword string
	// PublicOnly refuses addresses that are not in the internet: those of this machine and of its networks.
	PublicOnly bool
}

// Transport makes connections with time limits for all but the answer, which callers bound. Its errors show neither
// keys nor passwords.
func (c Connection) Transport() (*http.Transport, error) {
	config, err := c.TLS()
	if err != nil {
		return nil, err
	}
	proxy, err := c.Proxy()
	if err != nil {
		return nil, err
	}
	through := http.ProxyFromEnvironment
	if proxy != nil {
		through = http.ProxyURL(proxy)
	}
	t := &http.Transport{
		Proxy:                 through,
		TLSClientConfig:       config,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	if c.PublicOnly {
		publicOnly(t)
	}
	return t, nil
}

// TLS is whom to trust and which certificate to show.
func (c Connection) TLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CAPEM) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.CAPEM) {
			return nil, errors.New("CA file holds no certificate in PEM")
		}
		config.RootCAs = pool
	}
	if len(c.ClientCertPEM) > 0 || len(c.ClientKeyPEM) > 0 {
		if len(c.ClientCertPEM) == 0 || len(c.ClientKeyPEM) == 0 {
			return nil, errors.New("a client certificate needs its key, and the key its certificate")
		}
		pair, err := tls.X509KeyPair(c.ClientCertPEM, c.ClientKeyPEM)
		if err != nil {
			return nil, errors.New("client certificate and key are not a pair in PEM")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Proxy is the proxy's URL with its port and its credential; nil if the connection names none.
func (c Connection) Proxy() (*url.URL, error) {
	if c.ProxyURL == "" {
		if c.ProxyUsername+c.ProxyPassword != "" {
			return nil, errors.New("a credential for a proxy needs the proxy's URL")
		}
		return nil, nil
	}
	u, err := url.Parse(c.ProxyURL)
	if err != nil {
		return nil, errors.New("proxy URL cannot be parsed") // url.Parse quotes it, and it may hold a secret
	}
	switch {
	case u.User != nil:
		return nil, errors.New("proxy URL contains a user name or password: put them into auth instead")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, fmt.Errorf("proxy URL scheme %q is not supported: use http, https or socks5", u.Scheme)
	case u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("proxy URL needs a scheme and a host, and nothing after the port")
	}
	u.Path = ""
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(),
			map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme])
	}
	if c.ProxyUsername+c.ProxyPassword != "" {
		u.User = url.UserPassword(c.ProxyUsername, c.ProxyPassword)
	}
	return u, nil
}
