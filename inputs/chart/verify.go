package chart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	registryclient "github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// maxSignatureBytes limits a manifest, a signed payload, and a provenance file, which contains the Chart.yaml.
	maxSignatureBytes = 1 << 20
	// maxSignatures limits the signatures of one chart that are tried.
	maxSignatures = 32

	signatureAnnotation = "dev.cosignproject.cosign/signature"
	provenanceMediaType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

// verify fetches and verifies the signature of a pinned chart, unless the cache has a valid one.
func (s *Store) verify(of Request, pin Pin, fetch func() (signature, error)) error {
	if s.IsVerified(of, pin) {
		return nil
	}
	found, err := fetch()
	if err == nil {
		if failed := found.check(of, pin); failed != nil {
			err = unverified(pin, failed.Error())
		}
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = s.write(s.signatureFile(of, pin), text)
	}
	if err != nil {
		return fmt.Errorf("cache the signature of the chart: %w", err)
	}
	return nil
}

// fetchSignature fetches the signature of a pinned chart without verifying it.
func (s *Store) fetchSignature(ctx context.Context, of Request, pin Pin) (signature, error) {
	found, err := signature{}, error(nil)
	switch {
	case of.isOCI():
		found, err = s.signatureOCI(ctx, of, pin)
	case of.Keys.IsCosign():
		return signature{}, unverified(pin,
			"cosign signs charts in registries (oci://) only: name a keyring for it in charts.verify")
	default:
		found, err = s.signatureHTTP(ctx, of, pin)
	}
	if errors.Is(err, httpclient.ErrTooLarge) {
		err = unverified(pin, fmt.Sprintf("its signature is larger than %d MiB", maxSignatureBytes>>20))
	}
	return found, err
}

// signatureHTTP fetches the provenance file next to an archive, as Helm does.
func (s *Store) signatureHTTP(ctx context.Context, of Request, pin Pin) (signature, error) {
	e, err := s.find(ctx, of, pin.Version)
	if err != nil {
		return signature{}, err
	}
	from, err := e.address(of)
	if err != nil {
		return signature{}, err
	}
	client, err := s.client(ctx, of, maxSignatureBytes)
	if err != nil {
		return signature{}, err
	}
	from.Path, from.RawPath = from.Path+".prov", ""
	text, err := download(ctx, client, from.String())
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		return signature{}, unverified(pin, "it has no provenance file")
	}
	if err != nil {
		return signature{}, fmt.Errorf("fetch the provenance file of version %s: %w", pin.Version, err)
	}
	return signature{Provenance: text}, nil
}

// signatureOCI fetches a cosign signature, or the layer with a provenance file.
func (s *Store) signatureOCI(ctx context.Context, of Request, pin Pin) (signature, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.registry(ctx, of, maxSignatureBytes)
	if err != nil {
		return signature{}, err
	}
	image, err := remote.Image(r.version(pin.Version), r.options...)
	if err != nil {
		return signature{}, err
	}
	text, err := image.RawManifest()
	if err != nil {
		return signature{}, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return signature{}, err
	}
	if layer, err := chartLayer(manifest); err != nil || layer != pin.Digest {
		return signature{}, fmt.Errorf("the registry now has a different archive for version %s", pin.Version)
	}
	if !of.Keys.IsCosign() {
		return provenanceOf(image, manifest, pin)
	}
	return r.cosignOf(of, pin, text)
}

// provenanceOf reads the provenance file that helm push stored with a chart.
func provenanceOf(image v1.Image, manifest *v1.Manifest, pin Pin) (signature, error) {
	for _, l := range manifest.Layers {
		if string(l.MediaType) == provenanceMediaType {
			text, err := readLayer(image, l)
			return signature{Provenance: text}, err
		}
	}
	return signature{}, unverified(pin, "it has no provenance file")
}

// cosignOf returns the first valid cosign signature of a manifest, or else the first one.
func (r *ociRepository) cosignOf(of Request, pin Pin, manifest []byte) (first signature, err error) {
	tag := strings.Replace(digestOf(manifest), ":", "-", 1) + ".sig" // as cosign names it
	image, err := remote.Image(r.Tag(tag), r.options...)
	if failed, ok := errors.AsType[*registryclient.Error](err); ok && failed.StatusCode == http.StatusNotFound {
		return signature{}, unverified(pin, "it has no cosign signature (there is no tag "+tag+")")
	}
	if err != nil {
		return signature{}, err
	}
	signatures, err := image.Manifest()
	if err != nil {
		return signature{}, err
	}
	if len(signatures.Layers) == 0 {
		return signature{}, unverified(pin, "it has no cosign signature")
	}
	for i, l := range signatures.Layers[:min(len(signatures.Layers), maxSignatures)] {
		text, err := readLayer(image, l)
		if err != nil {
			return signature{}, err
		}
		found := signature{Manifest: manifest, Payload: text, Signature: l.Annotations[signatureAnnotation]}
		if found.check(of, pin) == nil {
			return found, nil
		}
		if i == 0 {
			first = found
		}
	}
	return first, nil
}

// readLayer reads a small layer without decompressing it. It fails if its digest is not the manifest's.
func readLayer(image v1.Image, of v1.Descriptor) ([]byte, error) {
	layer, err := image.LayerByDigest(of.Digest)
	if err != nil {
		return nil, err
	}
	body, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxSignatureBytes+1))
	if err == nil && len(text) > maxSignatureBytes {
		err = httpclient.ErrTooLarge
	}
	return text, err
}

// version returns the reference of a resolved version: a tag or a digest.
func (r *ociRepository) version(version string) name.Reference {
	if isDigest(version) {
		return r.Digest(version)
	}
	return r.Tag(toTag(version))
}
