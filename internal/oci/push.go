package oci

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/agentry-dev/agentry/gitsync/pipeline"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

// Scheme is the scheme of an artifact's URL, as in Flux.
const Scheme = "oci://"

// maxAnswerBytes limits a response of a registry. Manifests are the largest.
const maxAnswerBytes = 8 << 20

// shortID is the number of characters of an output commit that are added to a tag.
const shortID = 12

// Pushed is the result of a push.
type Pushed struct {
	Digest string
	// Tags are the tags that were moved to the digest. There are none if the moving tag already pointed to it.
	Tags []string
}

// Push sends an artifact. Its errors contain no credentials.
func Push(ctx context.Context, a *Artifact, to pipeline.OCI, secret pipelinefile.RegistrySecret) (Pushed, error) {
	p, err := newPusher(ctx, to, secret)
	if err != nil {
		return Pushed{}, err
	}
	defer p.client.CloseIdleConnections()
	out, err := p.push(a)
	if err != nil {
		err = fmt.Errorf("push to %s: %w", p.repository, withoutSecrets(err, secret))
	}
	return out, err
}

type pusher struct {
	repository name.Repository
	tag        string
	client     *http.Client
	options    []remote.Option
}

func newPusher(ctx context.Context, to pipeline.OCI, secret pipelinefile.RegistrySecret) (*pusher, error) {
	opts := []name.Option{name.StrictValidation}
	if to.Insecure {
		opts = append(opts, name.Insecure)
	}
	repository, err := name.NewRepository(strings.TrimPrefix(to.URL, Scheme), opts...)
	if err != nil {
		return nil, errors.New("the URL of the artifact is not oci://HOST/PATH")
	}
	client, err := new(httpclient.Pool).Client(httpclient.Connection{CAPEM: secret.CAPEM}, httpclient.Options{
		MaxAnswerBytes: maxAnswerBytes, Allow: func(u *url.URL) error {
			if u.Scheme != "https" && !to.Insecure {
				return fmt.Errorf("refused to talk to %s without TLS: see output.oci.insecure", u.Host)
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	auth := authn.Anonymous
	if secret.Username != "" || secret.Password != "" {
		auth = authn.FromConfig(authn.AuthConfig{Username: secret.Username, Password: secret.Password})
	}
	tag := to.Tag
	if tag == "" {
		tag = "latest"
	}
	return &pusher{repository: repository, tag: tag, client: client, options: []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(auth), remote.WithTransport(client.Transport),
		remote.WithUserAgent("agentry"),
		remote.WithRetryBackoff(remote.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 2}),
	}}, nil
}

func (p *pusher) push(a *Artifact) (Pushed, error) {
	digest, err := a.Digest()
	if err != nil {
		return Pushed{}, err
	}
	out := Pushed{Digest: digest.String()}
	if now, err := p.head(p.tag); err != nil || now == digest {
		return out, err
	}
	fixed := a.Input
	now, err := p.head(fixed)
	if err != nil {
		return out, err
	}
	if now != (v1.Hash{}) && now != digest {
		fixed += "-" + a.Output[:min(len(a.Output), shortID)]
		if now, err = p.head(fixed); err != nil {
			return out, err
		}
	}
	if now == (v1.Hash{}) {
		if err := remote.Write(p.repository.Tag(fixed), a.Image, p.options...); err != nil {
			return out, err
		}
		out.Tags = append(out.Tags, fixed)
	}
	if err := remote.Write(p.repository.Tag(p.tag), a.Image, p.options...); err != nil {
		return out, err
	}
	out.Tags = append(out.Tags, p.tag)
	return out, nil
}

// head returns the digest that a tag points to, or zero if the tag or the repository does not exist.
func (p *pusher) head(tag string) (v1.Hash, error) {
	d, err := remote.Head(p.repository.Tag(tag), p.options...)
	if refused, ok := errors.AsType[*transport.Error](err); ok && refused.StatusCode == http.StatusNotFound {
		return v1.Hash{}, nil
	}
	if err != nil {
		return v1.Hash{}, err
	}
	return d.Digest, nil
}

// isPermanent reports whether the registry would refuse a retry too.
func isPermanent(err error) bool {
	refused, ok := errors.AsType[*transport.Error](err)
	return errors.Is(err, ErrTooLarge) ||
		ok && (refused.StatusCode == http.StatusBadRequest || refused.StatusCode == http.StatusRequestEntityTooLarge)
}

// secretError is an error whose text is redacted.
type secretError struct {
	text string
	err  error
}

// Error implements error.
func (e secretError) Error() string { return e.text }

// Unwrap returns the original error.
func (e secretError) Unwrap() error { return e.err }

func withoutSecrets(err error, secret pipelinefile.RegistrySecret) error {
	text := httpclient.Redact(err.Error(), secret.Password)
	const maxErrorBytes = 500
	if len(text) > maxErrorBytes {
		text = strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
	}
	return secretError{text, err}
}
