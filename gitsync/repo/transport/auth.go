package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Auth is a credential: values, not the files and variables that hold them. The zero value is anonymous access.
type Auth struct {
	// Username and Password are for HTTP basic authentication. For ssh, Username is the login. It defaults to the user
	// of the URL, then to "git".
	Username string
	Password string
	// BearerToken is sent as "Authorization: Bearer" instead of Password.
	BearerToken string
	// Token returns passwords that expire, such as the tokens of a GitHub App. It is called before every request.
	// Username then defaults to x-access-token. Credentials are equal only if they have the same TokenSource, so
	// reuse it.
	Token TokenSource
	// Connection has the settings for https connections. Its proxy is also used for ssh, which ignores proxies of the
	// environment.
	httpclient.Connection
	// SSHKey is a private key in PEM. SSHPassphrase decrypts it if it is encrypted.
	SSHKey        []byte
	SSHPassphrase []byte
	// KnownHosts is the content of a known_hosts file, required for ssh. It may list several keys for a host.
	KnownHosts []byte

	// Identity replaces the credential in the key of the cache, so that a token that is renewed every hour keeps its
	// cache. Credentials with different rights must not share one. The default is a hash of the credential. A
	// credential with a Token needs one.
	Identity string
}

// TokenSource returns tokens. It must be safe for concurrent use, cache a token until it must be renewed, and
// respect the context's deadline. Its errors must contain no secret, and wrap [ErrAuth] if the credential was
// refused.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Remote is a repository and the credential that reads it. Pushes can have their own credential.
type Remote struct {
	// URL has the scheme https, http, ssh or file, or is Git's short form [user@]host:path, or a path.
	URL string
	// Auth is the credential for reading.
	Auth Auth
}

// Check returns the error that [NewClient] or [Remote.CacheKey] would return for this remote. It sends no request.
func (r Remote) Check() error {
	if _, err := r.CacheKey(); err != nil {
		return err
	}
	_, err := NewClient(r, 0)
	return err
}

// validate refuses contradictions, for which a server would only answer "denied".
func (a Auth) validate() error {
	kinds := 0
	for _, given := range []bool{a.Password != "", a.BearerToken != "", a.Token != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("auth has more than one of a password, a bearer token and a token source")
	case len(a.SSHPassphrase) > 0 && len(a.SSHKey) == 0:
		return errors.New("auth has an ssh passphrase without an ssh key")
	}
	return nil
}

// Equal reports whether two credentials are the same in every byte, and use the same TokenSource.
func (a Auth) Equal(b Auth) bool {
	if !sameSource(a.Token, b.Token) {
		return false
	}
	a.Token, b.Token = nil, nil
	return reflect.DeepEqual(a, b)
}

func sameSource(a, b TokenSource) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// secrets returns the texts that must never be shown. A user name without a password can be a token.
func (a Auth) secrets(token string) []string {
	out := []string{a.Password, a.BearerToken, token, string(a.SSHPassphrase), a.ProxyPassword}
	if len(a.SSHKey) == 0 && a.Password+a.BearerToken+token == "" {
		out = append(out, a.Username)
	}
	return out
}

// userOr returns the user name of the credential, otherwise of the URL, otherwise git, which every host accepts with
// a token.
func (a Auth) userOr(fromURL string) string {
	switch {
	case a.Username != "":
		return a.Username
	case a.Token != nil:
		return "x-access-token" // GitHub's user name for an App's token
	case fromURL != "":
		return fromURL
	}
	return "git"
}

// CacheKey returns a file name for the cache of the repository with this credential: a hash that does not reveal the
// credential.
func (r Remote) CacheKey() (string, error) {
	at, err := parseURL(r.URL)
	if err != nil {
		return "", err
	}
	a := r.Auth
	if a.Identity == "" && a.Token != nil {
		return "", fmt.Errorf("%s: auth has a token source without an identity", at)
	}
	id := struct {
		URL  string
		User string
		Auth any
	}{URL: at.String(), User: at.user, Auth: a.Identity}
	if a.Identity == "" {
		// Trusted certificates and the proxy are not part of the identity.
		a.Connection = httpclient.Connection{ClientCertPEM: a.ClientCertPEM, ClientKeyPEM: a.ClientKeyPEM}
		a.KnownHosts = nil
		id.Auth = a
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
