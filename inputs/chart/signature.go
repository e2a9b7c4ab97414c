package chart

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// ErrUnverified means that a chart must be signed, but has no valid signature.
var ErrUnverified = errors.New("is not verified")

// signature is the evidence that verifies an archive. The cache keeps it rather than the result, so that neither
// writing to the cache nor fetching a chart before signatures were required makes it accepted.
type signature struct {
	// Manifest is the manifest of a chart in a registry; cosign's payload contains its digest.
	Manifest  []byte `json:"manifest,omitempty"`
	Payload   []byte `json:"payload,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Provenance is Helm's provenance file.
	Provenance []byte `json:"provenance,omitempty"`
}

// check returns an error unless the archive of a pin is signed by a key that the request trusts.
func (s signature) check(of Request, pin Pin) error {
	if of.Keys.IsCosign() {
		manifest, err := v1.ParseManifest(bytes.NewReader(s.Manifest))
		if err != nil {
			return errors.New("its manifest cannot be read")
		}
		if layer, err := chartLayer(manifest); err != nil || layer != pin.Digest {
			return errors.New("its manifest is about another archive")
		}
		return of.Keys.Cosign(s.Payload, s.Signature, digestOf(s.Manifest))
	}
	name := of.Name
	if of.isOCI() {
		name = path.Base(of.URL)
	}
	return of.Keys.Provenance(s.Provenance, pin.Digest, name, pin.Version)
}

func unverified(pin Pin, reason string) error {
	return fmt.Errorf("version %s %w: %s", pin.Version, ErrUnverified, reason)
}
