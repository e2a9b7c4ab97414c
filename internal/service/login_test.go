package service

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentry-dev/agentry/internal/login"
	"github.com/agentry-dev/agentry/sd/rotate"
	"github.com/agentry-dev/agentry/test/gittest"
	"github.com/agentry-dev/agentry/test/logintest"
)

func page(t *testing.T, address string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}

// settings lets in everybody whom an issuer knows.
func settings(issuer string) login.Settings {
	return login.Settings{Issuer: issuer, ClientID: logintest.ClientID, URL: "http://127.0.0.1:9393", Claim: "groups",
		Act: []string{login.Everybody}}
}

// TestTheIssuerIsAwayAtTheStart: the service says so in its log and on its pages, and works otherwise.
func TestTheIssuerIsAwayAtTheStart(t *testing.T) {
	w, g := newTestbed(t), gittest.NewRepo(t)
	g.Commit("main", input("first"))
	url, _ := g.ServeHTTP(gittest.HTTPOptions{})
	w.pipeline("prod", url, "")
	w.options.Login.Settings = settings("http://127.0.0.1:1") // nobody listens there
	w.start()
	if line := w.line("nobody can log in: the issuer does not work"); !strings.Contains(
		line["err"].(string), "refused") {
		t.Errorf("%v", line)
	}
	if status, text := page(t, w.admin+"/"); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "Nobody can log in at present") || !strings.Contains(text, "http://127.0.0.1:1") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := page(t, w.admin+"/healthz"); status != http.StatusOK {
		t.Errorf("it is not healthy: %d", status)
	}
	for deadline := time.Now().Add(patience); !rendered(g, "prod", "first"); time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatal("there is no pass")
		}
	}
}

// TestSecretsOfALogin are read from files, or from the environment.
func TestSecretsOfALogin(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		at := filepath.Join(folder, name)
		write(t, at, text)
		return at
	}
	long := strings.Repeat("k", login.MinKey)
	for name, test := range map[string]struct {
		change      func(*Login)
		environment map[string]string
		err         string
	}{
		"nothing": {},
		"files": {change: func(l *Login) {
			l.ClientSecretFile, l.SessionKeyFile = file("secret", "s3cret\n"), file("key", long+"\n")
		}},
		"the environment": {environment: map[string]string{ClientSecretVariable: "s3cret",
			SessionKeyVariable: long}},
		"a short key": {change: func(l *Login) {
			l.SessionKeyFile = file("short", "s3cret")
		}, err: "has 6 characters and needs 32"},
		"a short variable": {environment: map[string]string{SessionKeyVariable: "s3cret"}, err: "openssl rand"},
		"no file": {change: func(l *Login) {
			l.ClientSecretFile = filepath.Join(folder, "none")
		}, err: "none"},
		"a CA that is none":   {change: func(l *Login) { l.CAFile = file("ca", "s3cret") }, err: "no PEM certificate"},
		"an issuer over http": {change: func(l *Login) { l.Issuer = "http://id.example.com" }, err: "https"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, folder, nil)
			o.Getenv = func(name string) (string, bool) { v, ok := test.environment[name]; return v, ok }
			o.Login.Settings = settings("https://id.example.com")
			if test.change != nil {
				test.change(&o.Login)
			}
			s := &service{options: o, log: o.Log}
			_, err := s.newLogin()
			if test.err == "" && err != nil ||
				test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) ||
					strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestASessionKeyStaysLong: a file that changes to a weak key has no effect.
func TestASessionKeyStaysLong(t *testing.T) {
	at, first := filepath.Join(t.TempDir(), "key"), strings.Repeat("k", login.MinKey)
	write(t, at, first)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &service{log: slog.New(slog.NewTextHandler(&log, nil))}
		s.options.Getenv = func(string) (string, bool) { return "", false }
		key, err := s.sessionKey(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range []struct{ text, want string }{{"short", first}, {first + "2", first + "2"}} {
			write(t, at, next.text)
			time.Sleep(rotate.Every)
			if got := key(); got != next.want {
				t.Errorf("after %q the key is %q", next.text, got)
			}
		}
		if !strings.Contains(log.String(), "has 5 characters and needs 32") {
			t.Errorf("the log says %q", log.String())
		}
	})
}
