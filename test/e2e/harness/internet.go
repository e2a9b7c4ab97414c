package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Internet lets the hosts that the documentation names lead to handlers, by their names and with
// certificates, so that nothing has to be written otherwise for a test. It returns what programs
// need in their environment: a proxy, through which they reach these hosts and no others, and the
// authority to trust.
func Internet(t *testing.T, hosts map[string]http.Handler) []string {
	t.Helper()
	names := []string{}
	for name := range hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	certificate, authority := certify(t, names)
	byName := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := hosts[hostname(r.Host)]
		if handler == nil {
			http.Error(w, "there is no "+r.Host+" in this test", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	})
	secure := httptest.NewUnstartedServer(byName)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnel(w, secure.Listener.Addr().String())
		} else {
			byName.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(proxy.Close)
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1"}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		env = append(env, name+"="+proxy.URL)
	}
	for _, name := range []string{"SSL_CERT_FILE", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE"} {
		env = append(env, name+"="+file)
	}
	return env
}

// hostname is a host without a port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// tunnel is what a proxy makes of CONNECT; whatever is asked for, it leads to one address.
func tunnel(w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_, err = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	}
	if err != nil {
		_ = there.Close()
		return
	}
	go copyAndClose(there, buffered)
	go copyAndClose(here, there)
}

func copyAndClose(to io.WriteCloser, from io.Reader) {
	_, _ = io.Copy(to, from) // Until one of the two has enough.
	_ = to.Close()
}

// certify makes a certificate for names, and the authority that vouches for it.
func certify(t *testing.T, names []string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the internet of a test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true, // It vouches for itself.
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
