package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync"
)

const (
	macBlock = 64 // bytes of a block of SHA-256; HMAC hashes longer keys

	// signingPrefix begins GitLab's signing tokens, which are keys in base64; other tokens of
	// GitLab are sent as they are.
	signingPrefix = "whsec_"

	// MaxClockSkew is how far the timestamp of GitLab's signatures may be off.
	MaxClockSkew = 5 * time.Minute
	// maxSignatures is how many signatures one request may try.
	maxSignatures = 4
)

// key is a secret in the forms that it is compared in.
type key struct {
	mac   []byte            // the key of the HMAC, at most one block
	token [sha256.Size]byte // its hash, to compare with what is sent as it is
	signs int               // 1 if signatures count, 0 if the token does
}

func newKey(kind gitsync.WebhookType, secret []byte) key {
	k := key{mac: secret, token: sha256.Sum256(secret), signs: 1}
	switch kind {
	case gitsync.WebhookAzure:
		k.signs = 0
	case gitsync.WebhookGitLab:
		text, isSigning := bytes.CutPrefix(secret, []byte(signingPrefix))
		decoded, err := base64.StdEncoding.DecodeString(string(text))
		if !isSigning || err != nil || len(decoded) == 0 {
			k.signs = 0
			break
		}
		k.mac = decoded
	}
	if len(k.mac) > macBlock { // As HMAC would do each time.
		sum := sha256.Sum256(k.mac)
		k.mac = sum[:]
	}
	return k
}

func (k key) equal(other key) bool { return k.token == other.token && k.signs == other.signs }

// begin returns the HMAC to which the body is still to be added.
func (k key) begin(p proof) hash.Hash {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write([]byte(p.before))
	return mac
}

// matches returns 1 if what was given proves that the sender knows the secret. It takes as
// long if not.
func (k key) matches(p proof, sum []byte) int {
	signed := 0
	for _, s := range p.signatures {
		signed |= subtle.ConstantTimeCompare(s, sum)
	}
	return subtle.ConstantTimeSelect(k.signs, signed, p.hasToken&subtle.ConstantTimeCompare(p.token[:], k.token[:]))
}

// proof is what a request has to prove that it is genuine.
type proof struct {
	signatures [][]byte
	before     string // what is signed before the body
	token      [sha256.Size]byte
	hasToken   int // 1 or 0

	sent time.Time     // what is signed as the time of sending; zero if none is
	age  time.Duration // how long ago that was, by our clock; negative: it is yet to come
}

// isOutOfTime reports whether what is signed may be a replay of a request that is forgotten by now.
func (p proof) isOutOfTime() bool { return !p.sent.IsZero() && p.age.Abs() > MaxClockSkew }

// readProof finds the proof of a request; ok is false if it has none.
func readProof(kind gitsync.WebhookType, r *http.Request, now time.Time) (p proof, ok bool) {
	switch kind {
	case gitsync.WebhookGitHub:
		p.addHex(r.Header.Get("X-Hub-Signature-256"), "sha256=")
	case gitsync.WebhookGitea:
		p.addHex(r.Header.Get("X-Hub-Signature-256"), "sha256=")
		p.addHex(r.Header.Get("X-Forgejo-Signature"), "")
		p.addHex(r.Header.Get("X-Gitea-Signature"), "")
	case gitsync.WebhookBitbucket:
		p.addHex(r.Header.Get("X-Hub-Signature"), "sha256=")
	case gitsync.WebhookGeneric:
		p.addHex(r.Header.Get("X-Signature"), "sha256=")
	case gitsync.WebhookGitLab:
		p.addToken(r.Header.Get("X-Gitlab-Token"))
		p.addStandard(r.Header, now)
	case gitsync.WebhookAzure:
		_, password, _ := r.BasicAuth()
		p.addToken(password)
	}
	return p, len(p.signatures) > 0 || p.hasToken == 1
}

func (p *proof) addHex(value, prefix string) {
	text, ok := strings.CutPrefix(value, prefix)
	if sum, err := hex.DecodeString(text); ok && err == nil && len(sum) == sha256.Size {
		p.signatures = append(p.signatures, sum)
	}
}

func (p *proof) addToken(token string) {
	if token != "" {
		p.token, p.hasToken = sha256.Sum256([]byte(token)), 1
	}
}

// addStandard reads the headers of standardwebhooks.com, which GitLab's signing tokens use:
// the id, the timestamp and the body are signed together.
func (p *proof) addStandard(header http.Header, now time.Time) {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" {
		return
	}
	p.sent = time.Unix(seconds, 0)
	p.age = now.Sub(p.sent)
	p.before = id + "." + stamp + "."
	for one := range strings.SplitSeq(header.Get("Webhook-Signature"), " ") {
		text, ok := strings.CutPrefix(one, "v1,")
		if sum, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(sum) == sha256.Size && len(p.signatures) < maxSignatures {
			p.signatures = append(p.signatures, sum)
		}
	}
}
