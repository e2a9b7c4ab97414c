package kind

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
)

// All returns the known kinds. A new kind is added here, and nowhere else.
func All() []Kind {
	return []Kind{
		{
			Name:         "github",
			Signature:    signed(hmacHeader{"X-Hub-Signature-256", "sha256="}),
			Event:        named(headers("X-GitHub-Event")),
			DeliveryID:   headers("X-GitHub-Delivery"),
			MaxBodyBytes: 25 << 20, // GitHub's own limit: it sends a push of two thousand commits in one body
		},
		{
			Name:       "gitlab",
			Secret:     gitlabSecret,
			Signature:  gitlabSignature,
			Event:      gitlabEvent,
			DeliveryID: headers("Webhook-Id", "Idempotency-Key", "X-Gitlab-Event-UUID"),
		},
		{
			Name: "gitea", // and Forgejo
			Signature: signed(hmacHeader{"X-Hub-Signature-256", "sha256="}, hmacHeader{"X-Forgejo-Signature", ""},
				hmacHeader{"X-Gitea-Signature", ""}),
			Event:      named(headers("X-Forgejo-Event", "X-Gitea-Event", "X-GitHub-Event")),
			DeliveryID: headers("X-Forgejo-Delivery", "X-Gitea-Delivery", "X-GitHub-Delivery"),
		},
		{
			Name:         "bitbucket", // Cloud and Server
			Signature:    signed(hmacHeader{"X-Hub-Signature", "sha256="}),
			Event:        bitbucketEvent,
			DeliveryID:   headers("X-Request-UUID", "X-Request-Id"),
			UnsignedPing: bitbucketUnsignedPing,
		},
		{
			Name:      "azure",
			Secret:    func([]byte) (hmacKey []byte, signs bool) { return nil, false },
			Signature: azureSignature,
			Event:     anyEvent,
		},
		{
			Name:      "generic",
			Signature: signed(hmacHeader{"X-Signature", "sha256="}),
			Event:     anyEvent,
		},
	}
}

// gitlabSecret distinguishes GitLab's two kinds of secrets: keys in base64, which sign, and tokens, which are sent
// unchanged.
func gitlabSecret(secret []byte) (hmacKey []byte, signs bool) {
	text, isSigning := bytes.CutPrefix(secret, []byte("whsec_"))
	key, err := base64.StdEncoding.DecodeString(string(text))
	return key, isSigning && err == nil && len(key) > 0
}

func gitlabSignature(r *http.Request) Signature {
	s := standardSignature(r.Header)
	s.Token = r.Header.Get("X-Gitlab-Token")
	return s
}

func gitlabEvent(header http.Header) Event {
	switch header.Get("X-Gitlab-Event") {
	case "Push Hook", "Tag Push Hook":
		return Push
	case "Merge Request Hook":
		return PullRequest
	case "System Hook":
		return PushOrPullRequest
	}
	return Other
}

const bitbucketPing = "diagnostics:ping"

func bitbucketEvent(header http.Header) Event {
	switch name := header.Get("X-Event-Key"); {
	case name == bitbucketPing:
		return Ping
	case strings.Contains(name, "comment"): // they include agentry's own
		return Other
	case name == "repo:push" || name == "repo:refs_changed" || name == "mirror:repo_synchronized":
		return Push
	case strings.HasPrefix(name, "pullrequest:") || strings.HasPrefix(name, "pr:"):
		return PullRequest
	}
	return Other
}

// bitbucketUnsignedPing recognises Bitbucket Server's test of an address.
func bitbucketUnsignedPing(header http.Header) bool {
	return header.Get("X-Event-Key") == bitbucketPing && header.Get("X-Hub-Signature") == ""
}

func azureSignature(r *http.Request) Signature {
	_, password, _ := r.BasicAuth()
	return Signature{Token: password}
}

// anyEvent is for sites that report the event only in the body.
func anyEvent(http.Header) Event { return PushOrPullRequest }
