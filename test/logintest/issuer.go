// Package logintest is an OpenID Connect issuer for tests. Unlike a real one, against which test/browser logs in, it
// tells lies if a test wants it to.
package logintest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// The client that the issuer knows.
const (
	ClientID     = "agentry"
	ClientSecret = "s3cret of the client"
)

// Issuer is a running issuer. Its fields are set before somebody logs in.
type Issuer struct {
	URL string
	// Claims are what the ID tokens say, besides or in place of what they must; nil takes one away.
	Claims map[string]any
	// UserInfo is what the userinfo endpoint says.
	UserInfo map[string]any
	// Key signs the ID tokens.
	Key *ecdsa.PrivateKey
	// Refuse is the error with which nobody is let in.
	Refuse string

	mu    sync.Mutex
	codes map[string]url.Values // what was asked for, by code
	keys  *oidctest.Server
}

// New starts an issuer, which ends with the test.
func New(t *testing.T) *Issuer {
	t.Helper()
	i := &Issuer{Claims: map[string]any{}, Key: NewKey(t), codes: map[string]url.Values{}}
	i.keys = &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: i.Key.Public(), KeyID: "key",
		Algorithm: oidc.ES256}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /auth", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { answer(w, i.UserInfo) })
	mux.Handle("GET /keys", i.keys)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	i.URL = s.URL
	return i
}

// NewKey makes a key.
func NewKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
		"jwks_uri":          i.URL + "/keys",
		"userinfo_endpoint": i.URL + "/userinfo", "end_session_endpoint": i.URL + "/end",
		"id_token_signing_alg_values_supported": []string{oidc.ES256},
	})
}

// authorize lets everybody in who asks as agentry must.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("nonce") == "" {
		http.Error(w, "ask for a code, with PKCE and a nonce", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if i.Refuse != "" {
		back.Set("error", i.Refuse)
	} else {
		code := rand.Text()
		i.mu.Lock()
		i.codes[code] = q
		i.mu.Unlock()
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token redeems each code once, for who shows the verifier.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	asked, ok := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	i.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	secret, _ = url.QueryUnescape(secret)
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || id != ClientID || secret != ClientSecret ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
		r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant"}`))
		return
	}
	claims := map[string]any{
		"iss": i.URL, "aud": ClientID, "sub": "0001", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"nonce": asked.Get("nonce"), "preferred_username": "ada",
	}
	for name, value := range i.Claims {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	text, _ := json.Marshal(claims)
	answer(w, map[string]any{
		"access_token": "s3cret access", "token_type": "Bearer",
		"id_token": oidctest.SignIDToken(i.Key, "key", oidc.ES256, string(text)),
	})
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
