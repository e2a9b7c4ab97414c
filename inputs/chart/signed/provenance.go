package signed

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"helm.sh/helm/v4/pkg/provenance"
)

// Provenance checks a Helm provenance file, which must be for the archive with a digest.
func (k *Keys) Provenance(text []byte, digest, name, version string) error {
	block, _ := clearsign.Decode(text)
	if block == nil {
		return errors.New("its provenance file holds no signature")
	}
	if err := k.checkPGP(block); err != nil {
		return err
	}
	// Read only the signed bytes: the plain text can differ in trailing spaces.
	message := bytes.ReplaceAll(block.Bytes, []byte("\r\n"), []byte("\n"))
	var sums provenance.SumCollection
	if provenance.ParseMessageBlock(message, nil, &sums) != nil {
		return errors.New("its provenance file names no archive")
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil {
		file := name + "-" + version + ".tgz" // the file name of helm package
		signed, found := sums.Files[file]
		switch {
		case !found:
			return fmt.Errorf("its provenance file is about another chart or version: it does not name %s", file)
		case signed != digest:
			return fmt.Errorf("its provenance file is about another archive: %.100q instead of %s", signed, digest)
		}
		return nil
	}
	for _, signed := range sums.Files { // a tag such as stable does not tell the version
		if signed == digest {
			return nil
		}
	}
	return fmt.Errorf("its provenance file is about another archive: it does not name %s", digest)
}

// checkPGP verifies a signature at its own date.
func (k *Keys) checkPGP(block *clearsign.Block) error {
	const maxBytes = 64 << 10
	raw, err := io.ReadAll(io.LimitReader(block.ArmoredSignature.Body, maxBytes))
	if err != nil {
		return errors.New("the signature of its provenance file is damaged")
	}
	first, err := packet.Read(bytes.NewReader(raw))
	s, ok := first.(*packet.Signature)
	if err != nil || !ok {
		return errors.New("the signature of its provenance file is not a PGP signature")
	}
	hashes := []crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512}
	config := &packet.Config{Time: func() time.Time { return s.CreationTime }}
	if _, err := openpgp.CheckDetachedSignatureAndHash(k.pgp, bytes.NewReader(block.Bytes), bytes.NewReader(raw),
		hashes, config); err != nil {
		return fmt.Errorf("the signature of its provenance file is not from a trusted key%s", issuer(s))
	}
	return nil
}

// issuer names the key that a signature claims to be from.
func issuer(s *packet.Signature) string {
	switch {
	case len(s.IssuerFingerprint) > 0:
		return fmt.Sprintf(" (it names %X)", s.IssuerFingerprint)
	case s.IssuerKeyId != nil:
		return fmt.Sprintf(" (it names %X)", *s.IssuerKeyId)
	}
	return ""
}
