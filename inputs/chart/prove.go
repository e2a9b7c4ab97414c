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
	// maxProofBytes limits a manifest, a payload that is signed, and a provenance file. These hold the chart's Chart.yaml.
	maxProofBytes = 1 << 20
	// maxSignatures limits the signatures of one chart that are looked at.
	maxSignatures = 32

	signatureAnnotation = "dev.cosignproject.cosign/signature"
	provenanceMediaType = "application/vnd.cncf.helm.chart.provenance.v1.prov"
)

// prove fetches the proof that a pinned chart is signed, unless it is there.
func (s *Store) prove(of Request, pin Pin, fetch func() (proof, error)) error {
	if s.IsProven(of, pin) {
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
		err = s.write(s.proofFile(of, pin), text)
	}
	if err != nil {
		return fmt.Errorf("keep the signature of the chart: %w", err)
	}
	return nil
}

// fetchProof fetches what may prove that a pinned chart is signed.
func (s *Store) fetchProof(ctx context.Context, of Request, pin Pin) (proof, error) {
	found, err := proof{}, error(nil)
	switch {
	case of.isOCI():
		found, err = s.proofOCI(ctx, of, pin)
	case of.Keys.IsCosign():
		return proof{}, unverified(pin, "cosign signs charts in registries (oci://) only: name a keyring for it in charts.verify")
	default:
		found, err = s.proofHTTP(ctx, of, pin)
	}
	if errors.Is(err, httpclient.ErrTooLarge) {
		err = unverified(pin, fmt.Sprintf("its signature is larger than %d MiB", maxProofBytes>>20))
	}
	return found, err
}

// proofHTTP fetches the provenance file beside an archive, where Helm looks for it.
func (s *Store) proofHTTP(ctx context.Context, of Request, pin Pin) (proof, error) {
	e, err := s.find(ctx, of, pin.Version)
	if err != nil {
		return proof{}, err
	}
	from, err := e.address(of)
	if err != nil {
		return proof{}, err
	}
	client, err := s.client(ctx, of, maxProofBytes)
	if err != nil {
		return proof{}, err
	}
	from.Path, from.RawPath = from.Path+".prov", ""
	text, err := download(ctx, client, from.String())
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusNotFound {
		return proof{}, unverified(pin, "it has no provenance file")
	}
	if err != nil {
		return proof{}, fmt.Errorf("fetch the provenance file of version %s: %w", pin.Version, err)
	}
	return proof{Provenance: text}, nil
}

// proofOCI fetches signatures of cosign, or the layer with a provenance file.
func (s *Store) proofOCI(ctx context.Context, of Request, pin Pin) (proof, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	r, err := s.registry(ctx, of, maxProofBytes)
	if err != nil {
		return proof{}, err
	}
	image, err := remote.Image(r.version(pin.Version), r.options...)
	if err != nil {
		return proof{}, err
	}
	text, err := image.RawManifest()
	if err != nil {
		return proof{}, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return proof{}, err
	}
	if layer, err := chartLayer(manifest); err != nil || layer != pin.Digest {
		return proof{}, fmt.Errorf("the registry gives another archive for version %s than before", pin.Version)
	}
	if !of.Keys.IsCosign() {
		return provenanceOf(image, manifest, pin)
	}
	return r.cosignOf(of, pin, text)
}

// provenanceOf reads the provenance file that helm push stored with a chart.
func provenanceOf(image v1.Image, manifest *v1.Manifest, pin Pin) (proof, error) {
	for _, l := range manifest.Layers {
		if string(l.MediaType) == provenanceMediaType {
			text, err := readLayer(image, l)
			return proof{Provenance: text}, err
		}
	}
	return proof{}, unverified(pin, "it has no provenance file")
}

// cosignOf returns the first signature of a manifest that is accepted, or else the first one.
func (r *ociRepository) cosignOf(of Request, pin Pin, manifest []byte) (first proof, err error) {
	tag := strings.Replace(digestOf(manifest), ":", "-", 1) + ".sig" // as cosign names it
	image, err := remote.Image(r.Tag(tag), r.options...)
	if failed, ok := errors.AsType[*registryclient.Error](err); ok && failed.StatusCode == http.StatusNotFound {
		return proof{}, unverified(pin, "it has no signature of cosign (there is no tag "+tag+")")
	}
	if err != nil {
		return proof{}, err
	}
	signatures, err := image.Manifest()
	if err != nil {
		return proof{}, err
	}
	if len(signatures.Layers) == 0 {
		return proof{}, unverified(pin, "it has no signature of cosign")
	}
	for i, l := range signatures.Layers[:min(len(signatures.Layers), maxSignatures)] {
		text, err := readLayer(image, l)
		if err != nil {
			return proof{}, err
		}
		found := proof{Manifest: manifest, Payload: text, Signature: l.Annotations[signatureAnnotation]}
		if found.check(of, pin) == nil {
			return found, nil
		}
		if i == 0 {
			first = found
		}
	}
	return first, nil
}

// readLayer reads a small layer as it is. It fails if the bytes have another digest than the manifest says.
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
	text, err := io.ReadAll(io.LimitReader(body, maxProofBytes+1))
	if err == nil && len(text) > maxProofBytes {
		err = httpclient.ErrTooLarge
	}
	return text, err
}

// version is the reference of a version that was looked up: a tag, or a digest.
func (r *ociRepository) version(version string) name.Reference {
	if isDigest(version) {
		return r.Digest(version)
	}
	return r.Tag(toTag(version))
}
