package delivery

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentry-dev/agentry/internal/intake"
	"github.com/agentry-dev/agentry/internal/webhook"
)

const token = "the token of the reconcilers"

func sign(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// TestAnswers is the table in the handler's documentation.
func TestAnswers(t *testing.T) {
	event := payload(t, "flux-applied")
	bearer := map[string]string{"Authorization": "Bearer " + token}
	signed := map[string]string{"X-Signature": sign(token, event)}
	for name, test := range map[string]struct {
		method, path string
		header       map[string]string
		body         []byte
		known        bool
		err          error
		status       int
		result       string
	}{
		"signed":              {"POST", "/hook/flux", signed, event, true, nil, 202, "flux accepted"},
		"with a token":        {"POST", "/hook/flux", bearer, event, true, nil, 202, "flux accepted"},
		"of another pipeline": {"POST", "/hook/flux", bearer, event, false, nil, 200, "flux ignored"},
		"Argo CD":             {"POST", "/hook/argocd", bearer, payload(t, "argocd-healthy"), true, nil, 202, "argocd accepted"},
		"about nothing":       {"POST", "/hook/flux", bearer, payload(t, "flux-source"), true, nil, 200, "flux ignored"},
		"of the other sender": {"POST", "/hook/argocd", bearer, event, true, nil, 200, "argocd ignored"},
		"the active replica is not there": {"POST", "/hook/flux", bearer, event, true, errors.New("too many"), 503,
			"flux limited"},
		"not JSON":                    {"POST", "/hook/flux", bearer, []byte("{"), true, nil, 400, "flux broken"},
		"not an event":                {"POST", "/hook/flux", bearer, []byte(`{"message": 1}`), true, nil, 400, "flux broken"},
		"neither token nor signature": {"POST", "/hook/flux", nil, event, true, nil, 401, "flux unauthorized"},
		"another token": {"POST", "/hook/flux", map[string]string{"Authorization": "Bearer " + token + "s"}, event,
			true, nil, 401, "flux unauthorized"},
		"no bearer token": {"POST", "/hook/flux", map[string]string{"Authorization": "Basic " + token}, event, true,
			nil, 401, "flux unauthorized"},
		"another key": {"POST", "/hook/flux", map[string]string{"X-Signature": sign("another", event)}, event, true,
			nil, 401, "flux unauthorized"},
		"another body than was signed": {"POST", "/hook/flux", map[string]string{"X-Signature": sign(token, event)},
			payload(t, "flux-healthy"), true, nil, 401, "flux unauthorized"},
		"half a signature": {"POST", "/hook/flux", map[string]string{"X-Signature": sign(token, event)[:60]}, event,
			true, nil, 401, "flux unauthorized"},
		"a signature of another kind": {"POST", "/hook/flux", map[string]string{"X-Signature": "sha1=00"}, event, true,
			nil, 401, "flux unauthorized"},
		"not a POST": {"GET", "/hook/flux", bearer, nil, true, nil, 405, "flux broken"},
		"as large as allowed": {"POST", "/hook/flux", bearer, []byte(strings.Repeat(" ", MaxBodyBytes)), true, nil,
			400, "flux broken"},
		"larger": {"POST", "/hook/flux", bearer, []byte(strings.Repeat(" ", MaxBodyBytes+1)), true, nil, 413,
			"flux too_large"},
		"elsewhere": {"POST", "/hook/flux/", bearer, event, true, nil, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var reports []Report
			result := ""
			h := NewHandler(HandlerOptions{
				Token: func() string { return token }, Gate: intake.New(), Log: slog.New(slog.DiscardHandler),
				Record: func(r Report) (bool, error) {
					reports = append(reports, r)
					return test.known, test.err
				},
				Observe: func(source string, r webhook.Result) { result += source + " " + string(r) },
			})
			r := httptest.NewRequest(test.method, "http://h"+test.path, strings.NewReader(string(test.body)))
			for name, value := range test.header {
				r.Header.Set(name, value)
			}
			out := httptest.NewRecorder()
			h.ServeHTTP(out, r)
			if out.Code != test.status || result != test.result || out.Body.Len() > 0 {
				t.Errorf("status %d, result %q, body %q; want %d and %q", out.Code, result, out.Body, test.status,
					test.result)
			}
			if test.status/100 == 4 && len(reports) > 0 {
				t.Errorf("reports %v", reports)
			}
		})
	}
}

func TestAnEmptyTokenProvesNothing(t *testing.T) {
	h := NewHandler(HandlerOptions{Token: func() string { return "" }, Gate: intake.New(),
		Log: slog.New(slog.DiscardHandler), Record: func(Report) (bool, error) { return true, nil }})
	body := payload(t, "flux-applied")
	r := httptest.NewRequest(http.MethodPost, "http://h/hook/flux", strings.NewReader(string(body)))
	r.Header.Set("X-Signature", sign("", body))
	out := httptest.NewRecorder()
	if h.ServeHTTP(out, r); out.Code != http.StatusUnauthorized {
		t.Errorf("got %d", out.Code)
	}
}

func TestTooManyRequests(t *testing.T) {
	h := NewHandler(HandlerOptions{Token: func() string { return token }, Gate: intake.New(),
		Log: slog.New(slog.DiscardHandler)})
	last := 0
	for range intake.ClientBurst + 1 {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, httptest.NewRequest(http.MethodPost, "http://h/hook/flux", nil))
		last = out.Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("got %d", last)
	}
}
