// Package httpclient makes the HTTP clients for forges, registries, receivers of notifications, and GitHub Apps. Git
// over HTTP uses its connections.
//
// A client has the certificates and the proxy of its [Connection], and the limits of its [Options]: every step of a
// request and every response is limited, redirects stay within the site, and nothing is sent to forbidden addresses.
// Errors name hosts but never secrets.
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

// Connection has the settings of connections: trusted authorities, client certificate and proxy. The zero value trusts
// the system's authorities and uses the proxy of the environment.
type Connection struct {
	// CAPEM are certificates of authorities to trust besides the system's.
	CAPEM []byte
	// ClientCertPEM and ClientKeyPEM are the client certificate and its key.
	ClientCertPEM []byte
	ClientKeyPEM  []byte
	// ProxyURL is the proxy, with scheme http, https or socks5. If empty, HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.
	ProxyURL      string
	ProxyUsername string
	ProxyPassword string
	// PublicOnly refuses addresses of this machine and of private networks.
	PublicOnly bool
}

// Transport returns a transport with time limits for everything but the response, which callers limit. Errors contain
// neither keys nor passwords.
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

// TLS returns the TLS configuration.
func (c Connection) TLS() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CAPEM) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(c.CAPEM) {
			return nil, errors.New("CA file contains no PEM certificate")
		}
		config.RootCAs = pool
	}
	if len(c.ClientCertPEM) > 0 || len(c.ClientKeyPEM) > 0 {
		if len(c.ClientCertPEM) == 0 || len(c.ClientKeyPEM) == 0 {
			return nil, errors.New("a client certificate needs its key, and the key its certificate")
		}
		pair, err := tls.X509KeyPair(c.ClientCertPEM, c.ClientKeyPEM)
		if err != nil {
			return nil, errors.New("client certificate and key are not a matching PEM pair")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Proxy returns the proxy's URL with its port and credentials, or nil if no proxy is set.
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
