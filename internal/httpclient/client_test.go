package httpclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestConnectionsAreSharedByThoseThatConnectAlike(t *testing.T) {
	var pool Pool
	c := Connection{ProxyURL: "http://proxy.example.com", ProxyUsername: "p", ProxyPassword: "pw"}
	first, err := pool.transport(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pool.transport(c); err != nil || again != first {
		t.Errorf("another one: %v", err)
	}
	c.ProxyPassword = "renewed"
	if other, err := pool.transport(c); err != nil || other == first {
		t.Errorf("the old password stays in use: %v", err)
	}
}

func TestConnectionsThatCannotWork(t *testing.T) {
	for want, c := range map[string]Connection{
		"no PEM certificate":        {CAPEM: []byte("s3cret")},
		"not a matching PEM pair":   {ClientCertPEM: []byte("s3cret"), ClientKeyPEM: []byte("s3cret")},
		"needs its key":             {ClientKeyPEM: []byte("s3cret")},
		"needs the proxy's URL":     {ProxyPassword: "s3cret"},
		"cannot be parsed":          {ProxyURL: "http://s3cret:\n"},
		"contains a user name":      {ProxyURL: "http://s3cret@proxy"},
		"is not supported":          {ProxyURL: "ftp://proxy"},
		"needs a scheme and a host": {ProxyURL: "http://proxy/s3cret"},
	} {
		if _, err := new(Pool).Client(c, Options{}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAnswersRedirectsAndAddressesAreBounded(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var n int
		switch _, err := fmt.Sscanf(req.URL.Path, "/hop/%d", &n); {
		case err == nil && n > 0:
			http.Redirect(w, req, fmt.Sprintf("/hop/%d", n-1), http.StatusMovedPermanently)
		case req.URL.Path == "/away":
			http.Redirect(w, req, other.URL, http.StatusMovedPermanently)
		default:
			// the client may stop reading
			_, _ = io.WriteString(w, strings.Repeat("x", len(req.URL.Query().Get("text"))))
		}
	}))
	t.Cleanup(server.Close)
	refused := errors.New("refused")
	client, err := new(Pool).Client(Connection{},
		Options{MaxAnswerBytes: 3, Redirects: 2, Allow: func(u *url.URL) error {
			if u.Path == "/secret" {
				return refused
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/?text=123": "", "/?text=1234": ErrTooLarge.Error(), "/hop/2": "", "/hop/3": "more than 2 times",
		"/away": "redirects to", "/secret": refused.Error(),
	} {
		resp, err := client.Get(server.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err = PlainError(err); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}
