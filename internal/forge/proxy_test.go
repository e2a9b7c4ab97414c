package forge

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/test/gittest"
)

// TestAPIsAreReachedThroughTheProxy asks hosts that only the proxy can reach, over TLS with their own CA, and without
// TLS.
func TestAPIsAreReachedThroughTheProxy(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Proxy-Authorization") != "" {
			t.Error("the proxy's password goes to the site")
		}
		fmt.Fprint(w, "[]")
	})
	plain, safe := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	t.Cleanup(plain.Close)
	t.Cleanup(safe.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: safe.Certificate().Raw})
	for name, c := range map[string]struct {
		server, url, host string
		ca                []byte
	}{
		// httptest's certificate is for *.example.com
		"a tunnel": {safe.URL, "https://forge.example.com", "forge.example.com:443", ca},
		"plain":    {plain.URL, "http://forge.invalid", "forge.invalid", nil},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := gittest.NewProxy(t, c.server)
			way := httpclient.Connection{CAPEM: c.ca, ProxyURL: proxy.URL, ProxyUsername: gittest.ProxyUser,
				ProxyPassword: gittest.ProxyPassword}
			each(t, c.url, Config{Connection: way}, func(t *testing.T, _ Forge, err error) {
				if err != nil || !slices.Contains(proxy.Hosts(), c.host) {
					t.Errorf("%v; the proxy was asked for %q", err, proxy.Hosts())
				}
			})
			before := len(proxy.Hosts())
			way.ProxyPassword = "wr0ng-s3cret"
			each(t, c.url, Config{Connection: way}, func(t *testing.T, _ Forge, err error) {
				if err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)) ||
					strings.Contains(err.Error(), "s3cret") {
					t.Errorf("with a wrong password: %v", err)
				}
			})
			if len(proxy.Hosts()) != before {
				t.Errorf("let through: %q", proxy.Hosts())
			}
		})
	}
}
