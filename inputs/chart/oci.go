package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// chartMediaType is the media type of the layer with the chart's archive.
const chartMediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxTags limits the tags of a chart.
const maxTags = 20_000

// ociRepository is a repository in a registry, with the options for requests.
type ociRepository struct {
	name.Repository
	options []remote.Option
}

func (s *Store) registry(ctx context.Context, of Request, maxBytes int64) (*ociRepository, error) {
	opts := []name.Option{name.StrictValidation}
	if of.Insecure {
		opts = append(opts, name.Insecure)
	}
	repository, err := name.NewRepository(strings.TrimPrefix(of.URL, Scheme), opts...)
	if err != nil {
		return nil, errors.New("the chart's URL is not oci://HOST/PATH")
	}
	client, err := s.client(ctx, of, maxBytes)
	if err != nil {
		return nil, err
	}
	auth := authn.Anonymous
	if of.Username+of.Password != "" {
		auth = authn.FromConfig(authn.AuthConfig{Username: of.Username, Password: of.Password})
	}
	return &ociRepository{repository, []remote.Option{
		remote.WithContext(ctx), remote.WithAuth(auth), remote.WithTransport(client.Transport),
		remote.WithUserAgent("agentry"),
		remote.WithRetryBackoff(remote.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 2}),
	}}, nil
}

func (s *Store) resolveOCI(ctx context.Context, of Request, _ Pin) (Pin, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.registry(ctx, of, MaxArchiveBytes)
	if err != nil {
		return Pin{}, err
	}
	var at name.Reference
	var version string
	if of.Digest != "" {
		if !isDigest(of.Digest) {
			return Pin{}, fmt.Errorf("the digest %.100q is not sha256: followed by 64 digits", of.Digest)
		}
		at, version = r.Digest(of.Digest), of.Digest
	} else {
		tag, err := r.tag(ctx, of.Version)
		if err != nil {
			return Pin{}, err
		}
		at, version = r.Tag(tag), fromTag(tag)
	}
	image, err := remote.Image(at, r.options...)
	if err != nil {
		return Pin{}, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return Pin{}, err
	}
	layer, err := chartLayer(manifest)
	return Pin{Version: version, Digest: layer}, err
}

// tag returns the tag that is written like version, or else the highest one in the range.
func (r *ociRepository) tag(ctx context.Context, version string) (string, error) {
	puller, err := remote.NewPuller(r.options...)
	if err != nil {
		return "", err
	}
	lister, err := puller.Lister(ctx, r.Repository)
	if err != nil {
		return "", err
	}
	var versions []string
	for lister.HasNext() {
		page, err := lister.Next(ctx)
		if err != nil {
			return "", err
		}
		for _, tag := range page.Tags {
			versions = append(versions, fromTag(tag))
		}
		if len(versions) > maxTags {
			return "", fmt.Errorf("the chart has more than %d tags", maxTags)
		}
	}
	chosen, err := choose(versions, version)
	return toTag(chosen), err
}

// fromTag returns the version of a tag. Tags cannot contain +, so Helm replaces it by _.
func fromTag(tag string) string { return strings.ReplaceAll(tag, "_", "+") }

func toTag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// chartLayer returns the digest of a chart's archive: the layer of Helm's type, or else the first one, as in Flux.
func chartLayer(m *v1.Manifest) (string, error) {
	for _, l := range m.Layers {
		if l.MediaType == chartMediaType {
			return l.Digest.String(), nil
		}
	}
	if len(m.Layers) == 0 {
		return "", errors.New("the artifact has no layer")
	}
	return m.Layers[0].Digest.String(), nil
}

func (s *Store) fetchOCI(ctx context.Context, of Request, pin Pin) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.registry(ctx, of, MaxArchiveBytes)
	if err != nil {
		return nil, err
	}
	layer, err := remote.Layer(r.Digest(pin.Digest), r.options...)
	if err != nil {
		return nil, err
	}
	body, err := layer.Compressed() // reading fails if the digest differs
	if err != nil {
		return nil, err
	}
	defer body.Close()
	archive, err := io.ReadAll(io.LimitReader(body, MaxArchiveBytes+1))
	if len(archive) > MaxArchiveBytes {
		return nil, fmt.Errorf("the archive is larger than %d MiB", MaxArchiveBytes>>20)
	}
	return archive, err
}
