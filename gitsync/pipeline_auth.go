package gitsync

import (
	"net/url"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/repo"
)

// url checks a repository's URL. Messages do not repeat it: it may hold a password by
// mistake.
func (v *validator) url(path, raw string) {
	_, err := repo.NormaliseURL(raw)
	v.check(err == nil, path, "", "%v", err)
	if err != nil {
		return
	}
	v.check(strings.Contains(raw, ":") || strings.HasPrefix(raw, "/"), path, "", "a repository on this machine needs its absolute path")
	u, err := url.Parse(raw)
	v.check(err != nil || u.User == nil || scheme(raw) == "ssh", path, "use auth.usernameFile or auth.usernameEnv", "must not hold a user name or token")
}

// scheme is how a repository is reached: https, http, ssh or file.
func scheme(raw string) string {
	normal, err := repo.NormaliseURL(raw)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(normal, "://")
	return name
}

// auth checks that there is at most one kind of credential, and that it fits the URL.
func (v *validator) auth(path, rawURL string, a Auth) {
	v.onePlace(path, a.credentials())
	basic := a.UsernameFile+a.UsernameEnv+a.PasswordFile+a.PasswordEnv != ""
	password := a.PasswordFile+a.PasswordEnv != ""
	bearer := a.BearerTokenFile+a.BearerTokenEnv != ""
	ca := a.CAFile+a.CAEnv != ""
	key := a.SSHKeyFile+a.SSHKeyEnv != ""
	hosts := a.KnownHostsFile+a.KnownHostsEnv != ""
	passphrase := a.SSHKeyPassphraseFile+a.SSHKeyPassphraseEnv != ""

	v.check(!(basic && bearer || basic && key || bearer && key), path, "", "more than one of a user name and password, a bearer token and an SSH key")
	v.check(!basic || password, path, "", "a user name needs a password")
	v.check(!passphrase || key, path, "", "a passphrase needs an SSH key")
	switch scheme(rawURL) {
	case "https", "http":
		v.check(!key && !hosts, path, "", "SSH keys and known hosts are for ssh URLs only")
		v.check(!ca || scheme(rawURL) == "https", path, "", "CA certificates are for https URLs only")
	case "ssh":
		v.check(!basic && !bearer && !ca, path, "", "passwords, bearer tokens and CA certificates are for https URLs only")
		v.check(key, path, "set sshKeyFile or sshKeyEnv", "an ssh URL needs a key")
		v.check(hosts, path, "set knownHostsFile; ssh-keyscan prints the keys of a host, compare them with what its owner publishes", "an ssh URL needs known hosts")
	case "file":
		v.check(a.IsZero(), path, "", "a repository on this machine takes no credentials")
	}
}

// onePlace checks that no credential is said to be in a file and in the environment.
func (v *validator) onePlace(path string, list []credential) {
	for _, c := range list {
		v.check(c.file == "" || c.env == "", path+"."+c.name+"Env", "", "%sFile is set too; only one of them may be", c.name)
	}
}

// signing checks where the key for commits is.
func (v *validator) signing(path string, c Commit) {
	v.onePlace(path, []credential{
		{"signingKey", c.SigningKeyFile, c.SigningKeyEnv},
		{"signingKeyPassphrase", c.SigningKeyPassphraseFile, c.SigningKeyPassphraseEnv},
	})
	v.check(c.SigningKeyPassphraseFile+c.SigningKeyPassphraseEnv == "" || c.SigningKeyFile+c.SigningKeyEnv != "", path, "", "a passphrase needs a signing key")
}

// credential is one secret and the places that it may be in.
type credential struct {
	name, file, env string
}

func (a Auth) credentials() []credential {
	return []credential{
		{"username", a.UsernameFile, a.UsernameEnv},
		{"password", a.PasswordFile, a.PasswordEnv},
		{"bearerToken", a.BearerTokenFile, a.BearerTokenEnv},
		{"ca", a.CAFile, a.CAEnv},
		{"sshKey", a.SSHKeyFile, a.SSHKeyEnv},
		{"sshKeyPassphrase", a.SSHKeyPassphraseFile, a.SSHKeyPassphraseEnv},
		{"knownHosts", a.KnownHostsFile, a.KnownHostsEnv},
	}
}
