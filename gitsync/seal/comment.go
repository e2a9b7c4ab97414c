package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/agentry-dev/agentry/generator/manifest"
	"github.com/agentry-dev/agentry/inputs/sops"
)

// head begins the comment of a sealed file. The number is the version of the scheme: files of other versions are
// encrypted again.
const head = "# agentry-seal: 2 "

// sum is a digest or a MAC.
type sum = [sha256.Size]byte

// fingerprint tells the keys of pipelines apart without revealing them.
type fingerprint = [8]byte

// comment is the first line of a sealed file.
type comment struct {
	key             fingerprint
	recipients, mac sum
}

// keyBytes and hexBytes are the lengths of a fingerprint and a sum in the comment, lineBytes is the length of the whole
// comment with its newline.
const (
	keyBytes  = 2 * len(fingerprint{})
	hexBytes  = 2 * sha256.Size
	lineBytes = len(head) + keyBytes + 1 + hexBytes + 1 + hexBytes + 1
)

// parse splits a sealed file into its comment and the rest. ok is false for any other file.
func parse(file []byte) (c comment, rest []byte, ok bool) {
	if len(file) < lineBytes || !bytes.HasPrefix(file, []byte(head)) || file[lineBytes-1] != '\n' {
		return c, nil, false
	}
	fields := bytes.Split(file[len(head):lineBytes-1], []byte(" "))
	if len(fields) != 3 || !decode(c.key[:], fields[0]) || !decode(c.recipients[:], fields[1]) ||
		!decode(c.mac[:], fields[2]) {
		return c, nil, false
	}
	return c, file[lineBytes:], true
}

// IsSealed reports whether a file begins with the comment of a sealed file.
func IsSealed(file []byte) bool {
	_, _, ok := parse(file)
	return ok
}

// decode reads lower-case hexadecimal digits only, so that a comment has only one spelling.
func decode(to, text []byte) bool {
	if len(text) != 2*len(to) {
		return false
	}
	_, err := hex.Decode(to, text)
	return err == nil && bytes.Equal(text, bytes.ToLower(text))
}

// line returns the comment with its newline.
func (c comment) line() []byte {
	return []byte(head + hex.EncodeToString(c.key[:]) + " " + hex.EncodeToString(c.recipients[:]) + " " +
		hex.EncodeToString(c.mac[:]) + "\n")
}

// mac returns the HMAC of parts for a purpose. Each part is written with its length, so that different lists of parts
// never have the same HMAC.
func (s *Sealer) mac(purpose string, parts ...[]byte) (out sum) {
	h := hmac.New(sha256.New, s.key)
	write := func(part []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	write([]byte("agentry-seal 1 " + purpose))
	for _, part := range parts {
		write(part)
	}
	h.Sum(out[:0])
	return out
}

// fingerprint returns the fingerprint of the key. It lets others test guesses of the key, as any MAC of a known text
// does, but the key is random.
func (s *Sealer) fingerprint() (out fingerprint) {
	sum := s.mac("key")
	copy(out[:], sum[:])
	return out
}

// macOf returns the MAC of a sealed file.
func (s *Sealer) macOf(id manifest.ID, recipients sum, clear, sealed []byte) sum {
	return s.mac("file", []byte(id.String()), recipients[:], clear, sealed)
}

// digestOf returns a digest of a set of recipients, which are not secret.
func digestOf(to sops.Recipients) sum {
	text, _ := json.Marshal(to.Set()) // cannot fail: these are lists of strings
	return sha256.Sum256(text)
}
