package httpserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestServeEndsWhatWasBegun stops the service while it answers.
func TestServeEndsWhatWasBegun(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	began, goOn := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
		_, _ = io.WriteString(w, "done")
	})
	l, other := listener(t), listener(t)
	served := make(chan error)
	go func() {
		served <- Serve(ctx, slog.New(slog.DiscardHandler), time.Minute, Listener{Listener: l, Handler: slow},
			Listener{Listener: other, Handler: slow})
	}()
	body := make(chan string)
	go func() {
		answer, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			body <- err.Error()
			return
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		body <- string(text)
	}()
	<-began
	stop()
	close(goOn)
	if got := <-body; got != "done" {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// broken is a listener that accepts nothing.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errors.New("broken") }

func TestABrokenListenerEndsAll(t *testing.T) {
	fine := listener(t)
	err := Serve(t.Context(), slog.New(slog.DiscardHandler), time.Minute,
		Listener{Listener: fine, Handler: http.NotFoundHandler()},
		Listener{Listener: broken{listener(t)}, Handler: http.NotFoundHandler()})
	if err == nil {
		t.Fatal("no error")
	}
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fine.Addr().String()); err == nil {
		t.Error("the other listener is still open")
	}
}

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T, serial int64) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestAPanicEndsARequestAndShowsNoValue(t *testing.T) {
	var log strings.Builder
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the password is hunter2") })
	server := httptest.NewServer(recoverPanics(handler, slog.New(slog.NewTextHandler(&log, nil))))
	answer, err := http.Get(server.URL + "/x")
	if err == nil {
		answer.Body.Close()
		t.Error("the request succeeded")
	}
	server.Close()
	if text := log.String(); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, "msg=panic during=request of=/x value=string") {
		t.Error(text)
	}
}

func TestCertificatesAreThoseOfTheMoment(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	l := listener(t)
	var current atomic.Pointer[tls.Certificate]
	served := make(chan error)
	go func() {
		served <- Serve(ctx, slog.New(slog.DiscardHandler), time.Minute,
			Listener{Listener: l, Handler: http.NotFoundHandler(), TLS: TLS(current.Load)})
	}()
	for serial := int64(1); serial <= 2; serial++ {
		current.Store(certificate(t, serial))
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := conn.ConnectionState().PeerCertificates[0].SerialNumber; got.Int64() != serial {
			t.Errorf("certificate %v, want %d", got, serial)
		}
		_ = conn.Close()
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
