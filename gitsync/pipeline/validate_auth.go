package pipeline

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
)

// validateRepositoryURL checks a repository's URL. Messages do not repeat the URL, which could contain a
// password by mistake.
func validateRepositoryURL(path, raw string) findings {
	var f findings
	_, err := transport.NormaliseURL(raw)
	f.check(err == nil, path, "", "%v", err)
	if err != nil {
		return f
	}
	f.check(strings.Contains(raw, ":") || strings.HasPrefix(raw, "/"), path, relativeHint(raw),
		"has no scheme, such as https://, and is not an absolute path")
	u, err := url.Parse(raw)
	f.check(err != nil || u.User == nil || scheme(raw) == "ssh", path, "use auth.usernameFile or auth.usernameEnv",
		"must not hold a user name or token")
	return f
}

// relativeHint returns the hint for a URL without a scheme, which may be a host or a relative path.
func relativeHint(raw string) string {
	if host, _, found := strings.Cut(raw, "/"); found && strings.Contains(strings.Trim(host, "."), ".") {
		return "put https:// before it"
	}
	return "write the absolute path of a repository on this machine, and https:// before one on a host"
}

// scheme returns how a repository is reached: https, http, ssh or file.
func scheme(raw string) string {
	normal, err := transport.NormaliseURL(raw)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(normal, "://")
	return name
}

// validateAuth checks that there is at most one kind of credential, and that it suits the URL.
func validateAuth(path, rawURL string, a Auth) findings {
	var f findings
	has := a.kinds()
	kinds := 0
	for _, is := range []bool{has.basic, has.bearer, has.key, has.app} {
		if is {
			kinds++
		}
	}
	f.check(kinds <= 1, path, "", "more than one of a user name and password, a bearer token, an SSH key and a "+
		"GitHub App")
	f.check(!has.basic || a.PasswordFile+a.PasswordEnv != "", path, "", "a user name needs a password")
	f.check(a.SSHKeyPassphraseFile+a.SSHKeyPassphraseEnv == "" || has.key, path, "", "a passphrase needs an SSH key")
	f.check(a.ClientCertFile+a.ClientCertEnv == "" || a.ClientKeyFile+a.ClientKeyEnv != "", path,
		"set clientKeyFile or clientKeyEnv", "a client certificate needs its key")
	f.check(a.ClientKeyFile+a.ClientKeyEnv == "" || a.ClientCertFile+a.ClientCertEnv != "", path,
		"set clientCertFile or clientCertEnv", "a client key needs its certificate")
	f.add(validateProxy(path, a))
	if has.app {
		f.add(validateGitHubApp(path+".githubApp", a.GitHubApp))
	}
	switch scheme(rawURL) {
	case "https", "http":
		https := scheme(rawURL) == "https"
		f.check(!has.key && !has.hosts, path, "", "SSH keys and known hosts are for ssh URLs only")
		f.check(!has.ca || https, path, "", "CA certificates are for https URLs only")
		f.check(!has.cert || https, path, "", "client certificates are for https URLs only")
		f.check(!has.app || https, path, "", "GitHub Apps are for https URLs only")
	case "ssh":
		f.add(validateSSH(path, has))
	case "file":
		f.check(a.IsZero(), path, "", "a repository on this machine takes no credentials")
	}
	return f
}

// validateSSH checks the credential of an ssh URL. One of another kind is one mistake: it says nothing of a key that is
// missing too.
func validateSSH(path string, has kinds) findings {
	var f findings
	const hosts = "ssh-keyscan prints the keys of a host, compare them with what its owner publishes"
	switch {
	case has.basic || has.bearer || has.app || has.ca || has.cert:
		f.check(false, path, "write the https URL of the repository, or set sshKeyFile or sshKeyEnv, and "+
			"knownHostsFile or knownHostsEnv, instead",
			"passwords, bearer tokens, GitHub Apps, client and CA certificates are for https URLs only")
	case !has.key && !has.hosts:
		f.check(false, path, "set sshKeyFile or sshKeyEnv, and knownHostsFile; "+hosts,
			"an ssh URL needs a key and known hosts")
	case !has.key:
		f.check(false, path, "set sshKeyFile or sshKeyEnv", "an ssh URL needs a key")
	case !has.hosts:
		f.check(false, path, "set knownHostsFile; "+hosts, "an ssh URL needs known hosts")
	}
	return f
}

// kinds says which kinds of credentials are set.
type kinds struct {
	basic, bearer, key, app, ca, hosts, cert bool
}

func (a Auth) kinds() kinds {
	return kinds{
		basic:  a.UsernameFile+a.UsernameEnv+a.PasswordFile+a.PasswordEnv != "",
		bearer: a.BearerTokenFile+a.BearerTokenEnv != "",
		key:    a.SSHKeyFile+a.SSHKeyEnv != "",
		app:    a.GitHubApp != nil,
		ca:     a.CAFile+a.CAEnv != "",
		hosts:  a.KnownHostsFile+a.KnownHostsEnv != "",
		cert:   a.ClientCertFile+a.ClientCertEnv+a.ClientKeyFile+a.ClientKeyEnv != "",
	}
}

// HasToken reports whether the credential contains something that the forge's API accepts as a token.
func (a Auth) HasToken() bool {
	return a.PasswordFile+a.PasswordEnv+a.BearerTokenFile+a.BearerTokenEnv != "" || a.GitHubApp != nil
}

// validateProxy checks the proxy. Messages do not repeat its URL, which could contain a password by mistake.
func validateProxy(path string, a Auth) findings {
	var f findings
	user := a.ProxyUsernameFile+a.ProxyUsernameEnv != ""
	password := a.ProxyPasswordFile+a.ProxyPasswordEnv != ""
	f.check(user == password, path, "", "a proxy's user name needs its password, and the password a user name")
	if a.ProxyURL == "" {
		f.check(!user && !password, path, "set proxyURL", "a proxy's credentials need the proxy")
		return f
	}
	const form = "write it like http://proxy.example.com:3128"
	u, err := url.Parse(a.ProxyURL)
	ok := err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "socks5"}, u.Scheme)
	f.check(ok, path+".proxyURL", form, "must be an http, https or socks5 URL")
	if !ok {
		return f
	}
	f.check(u.User == nil, path+".proxyURL", "use proxyUsernameFile and proxyPasswordFile",
		"must not hold a user name or password")
	f.check(strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment == "", path+".proxyURL", form,
		"must end after the host and port")
	return f
}

func validateGitHubApp(path string, g *GitHubApp) findings {
	var f findings
	f.check(g.AppID > 0, path+".appID", "the settings of the app show it", "is required")
	f.check(g.PrivateKeyFile+g.PrivateKeyEnv != "", path, "", "an app needs privateKeyFile or privateKeyEnv")
	if g.URL != "" {
		f.add(validateWebURL(path+".url", g.URL, "https"))
	}
	return f
}

// validateWebURL checks the URL of an HTTP service. Messages do not repeat the URL, which could contain a
// password by mistake.
func validateWebURL(path, raw string, schemes ...string) findings {
	var f findings
	u, err := url.Parse(raw)
	ok := err == nil && u.Hostname() != "" && slices.Contains(schemes, u.Scheme)
	f.check(ok, path, "", "must be an %s URL", strings.Join(schemes, " or "))
	if !ok {
		return f
	}
	f.check(u.User == nil, path, "", "must not hold a user name or password")
	f.check(u.Fragment == "", path, "", "must not hold a fragment")
	return f
}

// validateTrust checks the certificates for an HTTP service.
func validateTrust(path, rawURL, caFile, caEnv string) findings {
	var f findings
	f.check(caFile+caEnv == "" || strings.HasPrefix(rawURL, "https://"), path, "",
		"CA certificates are for https URLs only")
	return f
}
