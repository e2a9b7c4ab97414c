package pipelinefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/forge"
)

// Secrets are the credentials of a pipeline that only the service needs, for other things than reading and writing Git.
type Secrets struct {
	// Webhooks are the secrets of all repositories of the pipeline. While a secret is being replaced, a
	// repository and type can have several; each of them is accepted.
	Webhooks []WebhookSecret
	// Sources are the forges in the order of the pipeline's sources. It is nil for a source without one.
	Sources []*forge.Config
	// Output is the forge for pull requests, or nil.
	Output *forge.Config
	// Notify and Receivers are in the order of the pipeline's.
	Notify, Receivers []EndpointSecret
	// OCI is for the registry.
	OCI RegistrySecret
}

// WebhookSecret is a secret for the webhooks of a repository.
type WebhookSecret struct {
	// Repository is HOST[:PORT]/PATH as [pipeline.RepositoryAddress] returns it, which is equal for all URLs of
	// one repository.
	Repository string
	Type       string
	Secret     []byte
}

// EndpointSecret is the credential of an HTTP address that is called.
type EndpointSecret struct {
	// Secret is the HMAC key. If it is nil, the body is not signed.
	Secret []byte
	// CAPEM are certificates to trust in addition to the system's.
	CAPEM []byte
}

// RegistrySecret is the credential of an OCI registry. The zero value is anonymous access.
type RegistrySecret struct {
	Username, Password string
	// CAPEM are certificates to trust in addition to the system's.
	CAPEM []byte
}

// Secrets reads the credentials that only the service needs. It may be called again after files have changed.
// For a pipeline with forEach it skips what depends on the folder.
func (p *Pipeline) Secrets(getenv Getenv) (Secrets, diag.List) {
	r := resolver{pipeline: p, getenv: getenv}
	s := r.secrets()
	return s, r.found
}

func (r *resolver) secrets() (s Secrets) {
	p := r.pipeline
	for i, source := range p.Spec.Sources {
		at := fmt.Sprintf("spec.sources[%d]", i)
		r.webhook(&s, at+".webhook", source.URL, source.Webhook)
		s.Sources = append(s.Sources, r.forge(at, source.URL, source.Forge, source.Auth))
	}
	o := p.Spec.Output
	r.webhook(&s, "spec.output.webhook", o.URL, o.Webhook)
	s.Output = r.forge("spec.output", o.URL, o.Forge, p.Spec.OutputAuth())
	for i, n := range p.Spec.Notify {
		s.Notify = append(s.Notify, r.endpoint(fmt.Sprintf("spec.notify[%d]", i), n.SecretFile, n.SecretEnv, n.CAFile,
			n.CAEnv))
	}
	for i, n := range o.Receivers {
		s.Receivers = append(s.Receivers,
			r.endpoint(fmt.Sprintf("spec.output.receivers[%d]", i), n.SecretFile, n.SecretEnv, n.CAFile, n.CAEnv))
	}
	if oci := o.OCI; oci != nil {
		s.OCI = RegistrySecret{
			Username: r.text("spec.output.oci.username", oci.UsernameFile, oci.UsernameEnv),
			Password: r.text("spec.output.oci.password", oci.PasswordFile, oci.PasswordEnv),
			CAPEM:    r.bytes("spec.output.oci.ca", oci.CAFile, oci.CAEnv),
		}
	}
	return s
}

// webhook adds a webhook unless it was added: the output often has the webhook of a source.
func (r *resolver) webhook(s *Secrets, path, url string, w *pipeline.Webhook) {
	if w == nil {
		return
	}
	secret := r.text(path+".secret", w.SecretFile, w.SecretEnv)
	if secret == "" {
		return // it was reported
	}
	next := WebhookSecret{Repository: pipeline.RepositoryAddress(url), Type: w.Type, Secret: []byte(secret)}
	if !slices.ContainsFunc(s.Webhooks, func(known WebhookSecret) bool {
		return known.Repository == next.Repository && known.Type == next.Type && bytes.Equal(known.Secret, next.Secret)
	}) {
		s.Webhooks = append(s.Webhooks, next)
	}
}

func (r *resolver) endpoint(path, secretFile, secretEnv, caFile, caEnv string) EndpointSecret {
	e := EndpointSecret{CAPEM: r.bytes(path+".ca", caFile, caEnv)}
	if secret := r.text(path+".secret", secretFile, secretEnv); secret != "" {
		e.Secret = []byte(secret)
	}
	return e
}

// forge returns the access to the API of a repository's forge. at is the path of the source or output, and auth
// the credential of the repository.
func (r *resolver) forge(at, repository string, f *pipeline.Forge, auth pipeline.Auth) *forge.Config {
	if f == nil {
		return nil
	}
	out := &forge.Config{Type: f.Type, URL: f.URL, Repository: forge.PathAtSite(f.URL, repository)}
	out.Connection = r.connection(at+".auth", auth)
	if !isHostOf(f.URL, repository) { // the repository's proxy is used, but it is another server
		out.Connection.CAPEM, out.Connection.ClientCertPEM, out.Connection.ClientKeyPEM = nil, nil, nil
	}
	if f.CAFile+f.CAEnv != "" {
		out.Connection.CAPEM = r.bytes(at+".forge.ca", f.CAFile, f.CAEnv)
	}
	switch {
	case f.TokenFile+f.TokenEnv != "":
		r.rereadToken(out, at+".forge.token", f.TokenFile, f.TokenEnv)
	case auth.BearerTokenFile+auth.BearerTokenEnv != "":
		r.rereadToken(out, at+".auth.bearerToken", auth.BearerTokenFile, auth.BearerTokenEnv)
	case auth.GitHubApp != nil:
		r.appToken(out, at+".auth", repository, auth)
	default:
		r.rereadToken(out, at+".auth.password", auth.PasswordFile, auth.PasswordEnv)
	}
	return out
}

// rereadToken makes an access read its token for each call, because it can be replaced. It reads the token once
// now to find errors early.
func (r *resolver) rereadToken(out *forge.Config, path, file, env string) {
	r.text(path, file, env)
	out.Identity = "env " + env
	if file != "" {
		out.Identity = "file " + absolute(r.pipeline.resolve(file))
	}
	quiet := resolver{pipeline: r.pipeline, getenv: r.getenv}
	out.Token = func(context.Context) (string, error) {
		value, err := quiet.read(file, env)
		if err == nil && value == nil {
			err = errors.New("depends on the folder")
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		token, err := oneLine(value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return token, nil
	}
}

// appToken makes an access use the app of the repository's credential, whose private key can be replaced too.
func (r *resolver) appToken(out *forge.Config, path, repository string, auth pipeline.Auth) {
	out.Identity = r.auth(path, repository, auth).Identity
	quiet := resolver{pipeline: r.pipeline, getenv: r.getenv}
	out.Token = func(ctx context.Context) (string, error) {
		now := quiet // each call reports only its own errors
		source := now.auth(path, repository, auth).Token
		if source == nil {
			return "", errors.New(summary(now.found))
		}
		return source.Token(ctx)
	}
}

// summary returns all diagnostics on one line.
func summary(found diag.List) string {
	messages := make([]string, len(found))
	for i, d := range found {
		messages[i] = d.Problem()
	}
	return strings.Join(messages, "; ")
}

// isHostOf reports whether a site is on the host of a repository with an https URL.
func isHostOf(site, repository string) bool {
	normal, err := transport.NormaliseURL(repository)
	if err != nil {
		return false
	}
	a, errA := url.Parse(site)
	b, errB := url.Parse(normal)
	return errA == nil && errB == nil && a.Scheme == "https" && b.Scheme == "https" && a.Hostname() == b.Hostname()
}

func absolute(name string) string {
	full, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return full
}
