package pipeline

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
	"github.com/agentry-dev/agentry/gitsync/repo"
)

// MaxCredentialBytes bounds one credential; a CA bundle is the largest.
const MaxCredentialBytes = 1 << 20

// Credentials reads what the pipeline's auth fields point at. Getenv is [os.LookupEnv].
func (p *Pipeline) Credentials(getenv func(string) (string, bool)) (gitsync.Credentials, diag.List) {
	r := resolver{pipeline: p, getenv: getenv}
	var c gitsync.Credentials
	for i, s := range p.Spec.Sources {
		c.Sources = append(c.Sources, r.auth(fmt.Sprintf("spec.sources[%d].auth", i), s.Auth))
	}
	if p.Spec.InheritsAuth() {
		c.Output = c.Sources[0]
	} else {
		c.Output = r.auth("spec.output.auth", p.Spec.Output.Auth)
	}
	commit := p.Spec.Output.Commit
	c.Signing.Key = r.bytes("spec.output.commit.signingKey", commit.SigningKeyFile, commit.SigningKeyEnv)
	c.Signing.Passphrase = []byte(r.text("spec.output.commit.signingKeyPassphrase", commit.SigningKeyPassphraseFile, commit.SigningKeyPassphraseEnv))
	return c, r.found
}

// resolver reads credentials and collects what goes wrong.
type resolver struct {
	pipeline *Pipeline
	getenv   func(string) (string, bool)
	found    diag.List
}

func (r *resolver) auth(path string, a gitsync.Auth) repo.Auth {
	return repo.Auth{
		Username:      r.text(path+".username", a.UsernameFile, a.UsernameEnv),
		Password:      r.text(path+".password", a.PasswordFile, a.PasswordEnv),
		BearerToken:   r.text(path+".bearerToken", a.BearerTokenFile, a.BearerTokenEnv),
		CAPEM:         r.bytes(path+".ca", a.CAFile, a.CAEnv),
		SSHKey:        r.bytes(path+".sshKey", a.SSHKeyFile, a.SSHKeyEnv),
		SSHPassphrase: []byte(r.text(path+".sshKeyPassphrase", a.SSHKeyPassphraseFile, a.SSHKeyPassphraseEnv)),
		KnownHosts:    r.bytes(path+".knownHosts", a.KnownHostsFile, a.KnownHostsEnv),
		Identity:      r.identity(a),
	}
}

// identity names the files that a credential is in, so that a token that is renewed in
// place keeps its cache. A variable's name says nothing about whose token it holds, so
// with one of them the credential stands for itself.
func (r *resolver) identity(a gitsync.Auth) string {
	if a.UsernameEnv+a.PasswordEnv+a.BearerTokenEnv+a.SSHKeyEnv+a.SSHKeyPassphraseEnv != "" {
		return ""
	}
	var files []string
	for _, name := range []string{a.UsernameFile, a.PasswordFile, a.BearerTokenFile, a.SSHKeyFile} {
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

// text is a credential of one line.
func (r *resolver) text(path, file, env string) string {
	value := r.bytes(path, file, env)
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	if bytes.ContainsAny(value, "\r\n\x00") {
		r.fail(path, file, errors.New("has more than one line"))
		return ""
	}
	return string(value)
}

// bytes is the content of the file or variable; at most one of them is set.
func (r *resolver) bytes(path, file, env string) []byte {
	value, err := r.read(file, env)
	if err == nil && len(bytes.TrimSpace(value)) == 0 && file+env != "" {
		err = errors.New("is empty")
	}
	if err != nil {
		r.fail(path, file, err)
		return nil
	}
	return value
}

func (r *resolver) fail(path, file string, err error) {
	suffix := "Env"
	if file != "" {
		suffix = "File"
	}
	r.found = append(r.found, r.pipeline.Diag(gitsync.FieldError{Path: path + suffix, Code: diag.PipelineInvalid, Message: err.Error()}))
}

func (r *resolver) read(file, env string) ([]byte, error) {
	switch {
	case file != "":
		return readFile(r.pipeline.resolve(file))
	case env != "":
		value, ok := r.getenv(env)
		if !ok {
			return nil, fmt.Errorf("the environment variable %s is not set", env)
		}
		return []byte(value), nil
	}
	return nil, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxCredentialBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxCredentialBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, MaxCredentialBytes)
	}
	return data, nil
}
