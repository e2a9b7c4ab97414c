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

// head begins the comment of a sealed file. The number is that of the scheme: what another scheme wrote is encrypted
// again.
const head = "# agentry-seal: 2 "

// sum is a digest or a MAC.
type sum = [sha256.Size]byte

// fingerprint tells the keys of pipelines apart. It is too short and too random to find a key by it.
type fingerprint = [8]byte

// comment is the first line of a sealed file.
type comment struct {
	key             fingerprint
	recipients, mac sum
}

// keyBytes and hexBytes are the lengths of a fingerprint and of a sum in the comment, and lineBytes that of the comment
// with its newline.
const (
	keyBytes  = 2 * len(fingerprint{})
	hexBytes  = 2 * sha256.Size
	lineBytes = len(head) + keyBytes + 1 + hexBytes + 1 + hexBytes + 1
)

// parse splits a sealed file. ok is false for any other file.
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

// IsSealed reports whether a file begins as a sealed one.
func IsSealed(file []byte) bool {
	_, _, ok := parse(file)
	return ok
}

// decode reads the only spelling that a sum has: a comment that fits cannot be written in another way.
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

// mac returns the HMAC of parts that are about something. Each part is written with its length, so that no two lists of
// parts are the same text.
func (s *Sealer) mac(about string, parts ...[]byte) (out sum) {
	h := hmac.New(sha256.New, s.key)
	write := func(part []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	write([]byte("agentry-seal 1 " + about))
	for _, part := range parts {
		write(part)
	}
	h.Sum(out[:0])
	return out
}

// fingerprint is that of the key. Who has it can test guesses of the key, which is random, as with any MAC of a known
// text.
func (s *Sealer) fingerprint() (out fingerprint) {
	sum := s.mac("key")
	copy(out[:], sum[:])
	return out
}

// macOf is the MAC of a sealed file.
func (s *Sealer) macOf(id manifest.ID, recipients sum, clear, sealed []byte) sum {
	return s.mac("file", []byte(id.String()), recipients[:], clear, sealed)
}

// digestOf identifies a set of recipients, which are no secrets.
func digestOf(to sops.Recipients) sum {
	text, _ := json.Marshal(to.Set()) // lists of texts
	return sha256.Sum256(text)
}
