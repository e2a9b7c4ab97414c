package pipelinefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/gitsync/signature"
	"github.com/agentry-dev/agentry/inputs/chart"
	"github.com/agentry-dev/agentry/inputs/chart/signed"
	"github.com/agentry-dev/agentry/internal/githubapp"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// MaxCredentialBytes limits one credential. A CA bundle is the largest.
const MaxCredentialBytes = 1 << 20

// Getenv is [os.LookupEnv], or a test's.
type Getenv func(name string) (string, bool)

// Credentials reads the credentials that the pipeline's auth fields name. It may be called again after files
// have changed. For a pipeline with forEach it reads only the credentials of the first source, where the folders are
// found: other file names can depend on the folder.
func (p *Pipeline) Credentials(getenv Getenv) (gitsync.Credentials, diag.List) {
	r := resolver{pipeline: p, getenv: getenv}
	c := r.credentials()
	return c, r.found
}

func (r *resolver) credentials() (c gitsync.Credentials) {
	p := r.pipeline
	if p.each != nil {
		first := p.Spec.Sources[0]
		c.Sources = []transport.Auth{r.auth("spec.sources[0].auth", first.URL, first.Auth)}
		c.Verify = []signature.Keyring{r.keyring("spec.sources[0].verify", first.Verify)}
		return c
	}
	verify := false
	for i, s := range p.Spec.Sources {
		at := fmt.Sprintf("spec.sources[%d]", i)
		c.Sources = append(c.Sources, r.auth(at+".auth", s.URL, s.Auth))
		c.Verify = append(c.Verify, r.keyring(at+".verify", s.Verify))
		verify = verify || s.Verify != nil
	}
	if !verify {
		c.Verify = nil
	}
	if p.Spec.InheritsAuth() {
		c.Output = c.Sources[0]
	} else {
		c.Output = r.auth("spec.output.auth", p.Spec.Output.URL, p.Spec.Output.Auth)
	}
	for i, repository := range p.Spec.Charts.Repositories {
		at, auth := fmt.Sprintf("spec.charts.repositories[%d].auth", i), repository.Auth
		c.Charts = append(c.Charts, chart.Access{
			Connection: r.connection(at, auth),
			Username:   r.text(at+".username", auth.UsernameFile, auth.UsernameEnv),
			Password:   r.text(at+".password", auth.PasswordFile, auth.PasswordEnv),
		})
	}
	for i, v := range p.Spec.Charts.Verify {
		c.Signers = append(c.Signers, r.signers(fmt.Sprintf("spec.charts.verify[%d]", i), v))
	}
	for i, remote := range p.Spec.Build.Remotes {
		at := fmt.Sprintf("spec.build.remotes[%d]", i)
		c.Bases = append(c.Bases, gitsync.Base{Auth: r.auth(at+".auth", remote.URL, remote.Auth),
			Verify: r.keyring(at+".verify", remote.Verify)})
	}
	c.Decryption = r.decryption(p.Spec.Decryption)
	c.Sealing = r.sealing(p.Spec.Secrets)
	commit := p.Spec.Output.Commit
	c.Signing.Key = r.bytes("spec.output.commit.signingKey", commit.SigningKeyFile, commit.SigningKeyEnv)
	c.Signing.Passphrase = []byte(r.text("spec.output.commit.signingKeyPassphrase", commit.SigningKeyPassphraseFile,
		commit.SigningKeyPassphraseEnv))
	return c
}

// Named is a file, a folder or an environment variable with a credential that a pipeline names.
type Named struct {
	// Field is where, such as spec.sources[0].auth.passwordEnv.
	Field string
	// File or Env is its name, as it is written.
	File, Env string
	// Problem is why it cannot be used, or nil. It has no byte of the credential.
	Problem *diag.Diagnostic
}

// Named reads all credentials that the pipeline names, and returns their places, each field once. It leaves out fields
// that are not written but taken from a source and, for a pipeline with forEach, what depends on the folder.
func (p *Pipeline) Named(getenv Getenv) []Named {
	r := resolver{pipeline: p, getenv: getenv}
	r.credentials()
	r.secrets()
	var out []Named
	at := map[string]int{}
	for _, n := range r.named {
		i, known := at[n.Field]
		switch {
		case p.written.Field(n.Field) == nil:
		case p.each != nil && usesFolder(n.File+n.Env):
		case !known:
			at[n.Field] = len(out)
			out = append(out, n)
		case out[i].Problem == nil:
			out[i].Problem = n.Problem
		}
	}
	return out
}

// resolver reads credentials and collects diagnostics.
type resolver struct {
	pipeline *Pipeline
	getenv   Getenv
	found    diag.List
	named    []Named // what was read or could not be
}

func (r *resolver) auth(path, url string, a pipeline.Auth) transport.Auth {
	out := transport.Auth{Connection: r.connection(path, a)}
	out.Username = r.text(path+".username", a.UsernameFile, a.UsernameEnv)
	out.Password = r.text(path+".password", a.PasswordFile, a.PasswordEnv)
	out.BearerToken = r.text(path+".bearerToken", a.BearerTokenFile, a.BearerTokenEnv)
	out.SSHKey = r.bytes(path+".sshKey", a.SSHKeyFile, a.SSHKeyEnv)
	out.SSHPassphrase = []byte(r.text(path+".sshKeyPassphrase", a.SSHKeyPassphraseFile, a.SSHKeyPassphraseEnv))
	out.KnownHosts = r.bytes(path+".knownHosts", a.KnownHostsFile, a.KnownHostsEnv)
	out.Identity = r.identity(a)
	if a.GitHubApp != nil {
		r.app(path+".githubApp", url, a.GitHubApp, &out)
	}
	return out
}

// connection returns how to reach a server, for Git and for its API: the trusted certificates, the client
// certificate, and the proxy.
func (r *resolver) connection(path string, a pipeline.Auth) httpclient.Connection {
	return httpclient.Connection{
		CAPEM:         r.bytes(path+".ca", a.CAFile, a.CAEnv),
		ClientCertPEM: r.bytes(path+".clientCert", a.ClientCertFile, a.ClientCertEnv),
		ClientKeyPEM:  r.bytes(path+".clientKey", a.ClientKeyFile, a.ClientKeyEnv),
		ProxyURL:      a.ProxyURL,
		ProxyUsername: r.text(path+".proxyUsername", a.ProxyUsernameFile, a.ProxyUsernameEnv),
		ProxyPassword: r.text(path+".proxyPassword", a.ProxyPasswordFile, a.ProxyPasswordEnv),
	}
}

// app adds the source of an app's tokens to a credential. The same app and installation have the same rights
// with any key, so the key is not part of the identity.
func (r *resolver) app(path, url string, g *pipeline.GitHubApp, out *transport.Auth) {
	key := r.bytes(path+".privateKey", g.PrivateKeyFile, g.PrivateKeyEnv)
	if key == nil {
		return // it was reported
	}
	host, repository, _ := strings.Cut(pipeline.RepositoryAddress(url), "/")
	cfg := githubapp.Config{
		AppID: g.AppID, InstallationID: g.InstallationID, PrivateKey: key, Repository: repository, URL: g.URL,
		Connection: out.Connection,
	}
	if cfg.URL == "" && host != "github.com" {
		cfg.URL = "https://" + host + "/api/v3"
	}
	source, err := r.pipeline.apps.source(cfg)
	if err != nil {
		r.fail(path+".privateKey", g.PrivateKeyFile, err)
		return
	}
	out.Token = source
	out.Identity = appIdentity(cfg) + "\n" + out.Identity
}

func (r *resolver) keyring(path string, v *pipeline.Verify) signature.Keyring {
	if v == nil {
		return signature.Keyring{}
	}
	return signature.Keyring{
		AllowedSigners: r.bytes(path+".allowedSigners", v.AllowedSignersFile, v.AllowedSignersEnv),
		PGPKeys:        r.bytes(path+".pgpKeys", v.PGPKeysFile, v.PGPKeysEnv),
	}
}

// signers returns the keys that may sign charts.
func (r *resolver) signers(path string, v pipeline.ChartVerify) signed.Keyring {
	of := signed.Keyring{
		Cosign: r.bytes(path+".cosignKey", v.CosignKeyFile, v.CosignKeyEnv),
		PGP:    r.bytes(path+".keyring", v.KeyringFile, v.KeyringEnv),
	}
	name, file := ".cosignKey", v.CosignKeyFile
	if len(of.PGP) > 0 {
		name, file = ".keyring", v.KeyringFile
	}
	if len(of.Cosign)+len(of.PGP) > 0 { // else there is none, or it was reported
		if _, err := of.Keys(); err != nil {
			r.fail(path+name, file, err)
		}
	}
	return of
}

// identity returns the names of the files with a credential, so that a token that is replaced in its file keeps
// its cache. With an environment variable it returns nothing, because the variable's name does not say whose
// token it holds: then the credential itself is the identity.
func (r *resolver) identity(a pipeline.Auth) string {
	if a.UsernameEnv+a.PasswordEnv+a.BearerTokenEnv+a.SSHKeyEnv+a.SSHKeyPassphraseEnv+a.ClientCertEnv+a.ClientKeyEnv !=
		"" {
		return ""
	}
	var files []string
	for _, name := range []string{a.UsernameFile, a.PasswordFile, a.BearerTokenFile, a.SSHKeyFile, a.ClientCertFile,
		a.ClientKeyFile} {
		if name == "" {
			continue
		}
		absolute, err := filepath.Abs(r.pipeline.resolve(name))
		if err != nil {
			return ""
		}
		files = append(files, absolute)
	}
	return strings.Join(files, "\n")
}

// text returns a credential of one line.
func (r *resolver) text(path, file, env string) string {
	value, err := oneLine(r.bytes(path, file, env))
	if err != nil {
		r.fail(path, file, err)
	}
	return value
}

// oneLine returns a credential without the line break that editors and shells append.
func oneLine(value []byte) (string, error) {
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	if bytes.ContainsAny(value, "\r\n\x00") {
		return "", errors.New("has more than one line")
	}
	return string(value), nil
}

// bytes returns the content of the file or variable. At most one of them is set.
func (r *resolver) bytes(path, file, env string) []byte {
	if file+env != "" {
		r.named = append(r.named, Named{Field: path + suffix(file), File: file, Env: env})
	}
	value, err := r.read(file, env)
	if err != nil {
		r.fail(path, file, err)
		return nil
	}
	return value
}

func (r *resolver) fail(path, file string, err error) {
	r.failAt(path+suffix(file), err)
}

func (r *resolver) failAt(field string, err error) {
	d := r.pipeline.Place(diag.Diagnostic{Path: field, Message: err.Error()})
	r.found = append(r.found, d)
	for i := range r.named {
		if n := &r.named[i]; n.Field == field && n.Problem == nil {
			n.Problem = &d
		}
	}
}

// suffix ends the name of the field that names a file or, if there is none, a variable.
func suffix(file string) string {
	if file != "" {
		return "File"
	}
	return "Env"
}

// read returns the content of the file or variable, which must not be empty. It returns nil if neither is set,
// or if the file's name depends on a folder that is unknown. Errors contain none of the content.
func (r *resolver) read(file, env string) ([]byte, error) {
	var value []byte
	switch {
	case r.pipeline.each != nil && usesFolder(file+env):
		return nil, nil // the pipeline of each folder reads its own
	case file != "":
		content, err := readFile(r.pipeline.resolve(file), MaxCredentialBytes)
		if err != nil {
			return nil, err
		}
		value = content
	case env != "":
		text, ok := r.getenv(env)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s is not set", env)
		}
		value = []byte(text)
	default:
		return nil, nil
	}
	if len(bytes.TrimSpace(value)) == 0 {
		return nil, errors.New("is empty")
	}
	return value, nil
}

// readFile reads a file up to a limit.
func readFile(name string, maxBytes int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxBytes)
	}
	return data, nil
}
