package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
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
	// CAPEM holds certificates that an https server's chain may end in, besides
	// the system's.
	CAPEM []byte
	// SSHKey is a private key in PEM, SSHPassphrase what opens it, if sealed.
	SSHKey        []byte
	SSHPassphrase []byte
	// KnownHosts is the content of a known_hosts file. ssh needs it.
	KnownHosts []byte

	// Identity stands for the credential in the key of the cache, so that a
	// token which is renewed every hour keeps its cache. Two credentials with
	// different rights must not share one. Empty: a hash of the credential.
	Identity string
}

// Remote is a repository and the credentials for it.
type Remote struct {
	// URL may be of scheme https, http, ssh or file, of git's short form
	// [user@]host:path, or a path.
	URL string
	// Auth reads, and writes too if Push is nil.
	Auth Auth
	// Push is the credential for pushing.
	Push *Auth
}

// validate finds contradictions that a server would only answer with "denied".
func (a Auth) validate() error {
	if a.Password != "" && a.BearerToken != "" {
		return errors.New("auth holds both a password and a bearer token")
	}
	if len(a.SSHPassphrase) > 0 && len(a.SSHKey) == 0 {
		return errors.New("auth holds an ssh passphrase without an ssh key")
	}
	return nil
}

// secrets lists what must never be shown, longest first, so that one secret
// that is part of another does not leave a rest.
func (a Auth) secrets() []string {
	var out []string
	for _, s := range []string{a.Password, a.BearerToken, string(a.SSHPassphrase)} {
		if s != "" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return len(y) - len(x) })
	return out
}

// userOr gives the user name: of the credential, else of the URL, else git,
// which every host accepts beside a token.
func (a Auth) userOr(fromURL string) string {
	switch {
	case a.Username != "":
		return a.Username
	case fromURL != "":
		return fromURL
	}
	return "git"
}

// cacheKey is the name of the folder for a remote as seen with a credential.
func cacheKey(l location, a Auth) (string, error) {
	id := struct {
		URL  string
		User string
		Auth any
	}{URL: l.normal(), User: l.user, Auth: a.Identity}
	if a.Identity == "" {
		a.CAPEM, a.KnownHosts = nil, nil // They say whom we trust, not who we are.
		id.Auth = a
	}
	text, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
