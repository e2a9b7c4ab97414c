// Package kind has the differences between the webhooks of repository hosts. It reads headers and never a body.
package kind

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a kind of webhook.
type Kind struct {
	// Name is used in pipeline files and addresses.
	Name string
	// Secret tells how the sender uses a secret: as the key of an HMAC (signs), or by sending the secret itself. Nil
	// means that every secret is the key of an HMAC.
	Secret func(secret []byte) (hmacKey []byte, signs bool)
	// Signature returns the proofs in a request.
	Signature func(*http.Request) Signature
	// Event returns the event that the request reports.
	Event func(http.Header) Event
	// DeliveryID returns the sender's id of the delivery, which is the same when it is sent again; empty if it has
	// none. Nil means that the id is in the body.
	DeliveryID func(http.Header) string
	// MaxBodyBytes limits the body. 0 means the handler's default.
	MaxBodyBytes int64
	// UnsignedPing recognises an unsigned request that only tests the address. Nil means that there are none.
	UnsignedPing func(http.Header) bool
}

// Find returns the kind with a name.
func Find(name string) (Kind, bool) {
	all := All()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return all[i], true
}

// Names returns the names of all kinds.
func Names() []string {
	var names []string
	for _, k := range All() {
		names = append(names, k.Name)
	}
	return names
}

// Event is the event that a webhook reports. It is read from headers, which are not signed. This is safe: only a
// sender who knows the secret gets this far, and the worst that a wrong event does is a fetch.
type Event int

// The events.
const (
	Other             Event = iota // changes no commit
	Ping                           // tests the address
	Push                           // commits, branches or tags changed
	PullRequest                    // a pull request changed
	PushOrPullRequest              // only the body tells which
)

// Signature has the proofs in a request that its sender knows the secret.
type Signature struct {
	// Sums are HMACs with SHA-256; any of them may be valid.
	Sums [][]byte
	// Before is the text that is signed before the body.
	Before string
	// Sent is the signed time of sending; zero if there is none.
	Sent time.Time
	// Token is the secret itself; empty if it is not sent.
	Token string
}

// IsEmpty reports whether a request has no proof.
func (s Signature) IsEmpty() bool { return len(s.Sums) == 0 && s.Token == "" }

// hmacHeader is a header with a hexadecimal HMAC after a prefix.
type hmacHeader struct{ name, prefix string }

func signed(in ...hmacHeader) func(*http.Request) Signature {
	return func(r *http.Request) (s Signature) {
		for _, h := range in {
			text, ok := strings.CutPrefix(r.Header.Get(h.name), h.prefix)
			if sum, err := hex.DecodeString(text); ok && err == nil && len(sum) == sha256.Size {
				s.Sums = append(s.Sums, sum)
			}
		}
		return s
	}
}

// maxSums limits the signatures in one request.
const maxSums = 4

// standardSignature reads the headers of standardwebhooks.com: the id, the timestamp and the body are signed together.
func standardSignature(header http.Header) (s Signature) {
	id, stamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || id == "" {
		return s
	}
	s.Sent, s.Before = time.Unix(seconds, 0), id+"."+stamp+"."
	for one := range strings.SplitSeq(header.Get("Webhook-Signature"), " ") {
		text, ok := strings.CutPrefix(one, "v1,")
		if sum, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(sum) == sha256.Size &&
			len(s.Sums) < maxSums {
			s.Sums = append(s.Sums, sum)
		}
	}
	return s
}

// headers reads the first of several headers that is present.
func headers(names ...string) func(http.Header) string {
	return func(header http.Header) string {
		for _, name := range names {
			if value := header.Get(name); value != "" {
				return value
			}
		}
		return ""
	}
}

// named reads events by the names of GitHub, which others have adopted.
func named(name func(http.Header) string) func(http.Header) Event {
	return func(header http.Header) Event {
		switch name(header) {
		case "ping":
			return Ping
		case "push", "create", "delete":
			return Push
		case "pull_request", "pull_request_sync":
			return PullRequest
		}
		return Other
	}
}
