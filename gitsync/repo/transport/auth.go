package transport

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Auth is a resolved credential: values, not places to find them. The zero
// value is anonymous access.
type Auth struct {
	// Username and Password are HTTP basic authentication. For ssh, Username
	// is the login. Empty: the user of the URL, else "git".
	Username string
	Password string
	// BearerToken is sent as "Authorization: Bearer" instead of Password.
	BearerToken string
	// Token makes passwords that expire, such as those of a GitHub App. It is asked before every
	// request. Without a Username the user is x-access-token. Two credentials are the same only if
	// they hold the same TokenSource, so keep one.
	Token TokenSource
	// Connection is how https servers are reached. Its proxy is used for ssh too, where
	// the environment names none.
	httpclient.Connection
	// SSHKey is a private key in PEM, SSHPassphrase decrypts it if it is encrypted.
	SSHKey        []byte
	SSHPassphrase []byte
	// KnownHosts is the content of a known_hosts file. ssh needs it. A host may have
	// any number of keys in it.
	KnownHosts []byte

	// Identity replaces the credential in the key of the cache, so that a token which is renewed every
	// hour keeps its cache. Two credentials with different rights must not share one. Empty: a hash of
	// the credential. A credential with a Token needs one.
	Identity string
}

// TokenSource makes tokens. It is safe for concurrent use, keeps a token until it must be renewed, and
// holds the context's deadline. Its errors show no secret, and wrap [ErrAuth] if the credential was
// refused.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Remote is a repository and the credential that reads it. Pushes may have a credential of their own.
type Remote struct {
	// URL may be of scheme https, http, ssh or file, of git's short form
	// [user@]host:path, or a path.
	URL string
	// Auth reads.
	Auth Auth
}

// Check reports what [NewClient] and [Remote.CacheKey] would refuse. It contacts nobody.
func (r Remote) Check() error {
	if _, err := r.CacheKey(); err != nil {
		return err
	}
	_, err := NewClient(r, 0)
	return err
}

// validate finds contradictions, to which a server would only answer "denied".
func (a Auth) validate() error {
	kinds := 0
	for _, given := range []bool{a.Password != "", a.BearerToken != "", a.Token != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("auth holds more than one of a password, a bearer token and a source of tokens")
	case len(a.SSHPassphrase) > 0 && len(a.SSHKey) == 0:
		return errors.New("auth holds an ssh passphrase without an ssh key")
	}
	return nil
}

// Equal reports whether two credentials are the same in every byte, and make their tokens
// from the same source.
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

// secrets lists what must never be shown. The longest comes first: one that is part of another would
// leave a rest of it.
func (a Auth) secrets(token string) []string {
	var out []string
	for _, s := range []string{a.Password, a.BearerToken, token, string(a.SSHPassphrase), a.ProxyPassword} {
		if s != "" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return len(y) - len(x) })
	return out
}

// userOr returns the user name: of the credential, else of the URL, else git, which every host accepts
// with a token.
func (a Auth) userOr(fromURL string) string {
	switch {
	case a.Username != "":
		return a.Username
	case a.Token != nil:
		return "x-access-token" // what GitHub calls the user of an App's token
	case fromURL != "":
		return fromURL
	}
	return "git"
}

// CacheKey is a file name for the cache of the repository as this credential sees it: a hash, from
// which the credential cannot be read.
func (r Remote) CacheKey() (string, error) {
	at, err := ParseURL(r.URL)
	if err != nil {
		return "", err
	}
	a := r.Auth
	if a.Identity == "" && a.Token != nil {
		return "", fmt.Errorf("%s: auth holds a source of tokens and no identity", at)
	}
	id := struct {
		URL  string
		User string
		Auth any
	}{URL: at.String(), User: at.user, Auth: a.Identity}
	if a.Identity == "" {
		// What is removed here says whom we trust and how we connect, not who we are.
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
