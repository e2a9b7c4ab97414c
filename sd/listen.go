package sd

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"
)

// ServerTLS makes the TLS settings of a listener. It calls the functions for each new connection, because the files
// behind them may change. With clientCAs, a client must be another replica or present a certificate of one of them.
func ServerTLS(certificate func() *tls.Certificate, clientCAs func() *x509.CertPool) *tls.Config {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		own := certificate()
		config := &tls.Config{MinVersion: base.MinVersion, NextProtos: base.NextProtos,
			Certificates: []tls.Certificate{*own}}
		if clientCAs != nil {
			config.ClientCAs, config.ClientAuth = withReplicas(clientCAs(), own), tls.RequireAndVerifyClientCert
		}
		return config, nil
	}
	return base
}

// requireBearer refuses requests without the token. Browsers may send it as the password of basic authentication.
func requireBearer(token func() string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if _, password, basic := r.BasicAuth(); basic {
			scheme, given = "bearer", password
		}
		got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(token()))
		if !strings.EqualFold(scheme, "bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Add("WWW-Authenticate", "Bearer")
			w.Header().Add("WWW-Authenticate", `Basic realm="sd-aggregator: the token is the password"`)
			http.Error(w, "a bearer token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
