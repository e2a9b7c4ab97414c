package webhook

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/agentry-dev/agentry/gitsync"
)

// event is what a webhook is sent for. Headers say so, which are not signed: nobody but who
// knows the secret can send one, and the worst that a wrong one does is a fetch.
type event int

const (
	otherEvent event = iota // changes no commit
	pingEvent               // tries the address
	pushEvent               // commits, branches or tags changed
	pullEvent               // a pull request changed
	anyEvent                // a push or a pull request: only the body says which
)

const bitbucketPing = "diagnostics:ping"

// unsignedPing recognises how Bitbucket Server tries an address: it does not sign that.
func unsignedPing(header http.Header) bool {
	return header.Get("X-Event-Key") == bitbucketPing && header.Get("X-Hub-Signature") == ""
}

func eventOf(kind gitsync.WebhookType, header http.Header) event {
	switch kind {
	case gitsync.WebhookGitHub:
		return named(header.Get("X-GitHub-Event"))
	case gitsync.WebhookGitea:
		return named(cmp.Or(header.Get("X-Forgejo-Event"), header.Get("X-Gitea-Event"), header.Get("X-GitHub-Event")))
	case gitsync.WebhookGitLab:
		switch header.Get("X-Gitlab-Event") {
		case "Push Hook", "Tag Push Hook":
			return pushEvent
		case "Merge Request Hook":
			return pullEvent
		case "System Hook":
			return anyEvent
		}
		return otherEvent
	case gitsync.WebhookBitbucket:
		return bitbucketEvent(header.Get("X-Event-Key"))
	}
	return anyEvent
}

func named(name string) event {
	switch {
	case name == "ping":
		return pingEvent
	case name == "push" || name == "create" || name == "delete":
		return pushEvent
	case name == "pull_request" || name == "pull_request_sync":
		return pullEvent
	}
	return otherEvent
}

func bitbucketEvent(name string) event {
	switch {
	case name == bitbucketPing:
		return pingEvent
	case strings.Contains(name, "comment"): // Ours are among them.
		return otherEvent
	case name == "repo:push" || name == "repo:refs_changed" || name == "mirror:repo_synchronized":
		return pushEvent
	case strings.HasPrefix(name, "pullrequest:") || strings.HasPrefix(name, "pr:"):
		return pullEvent
	}
	return otherEvent
}

// deliveriesOf are the marks by which a delivery is known again: the id that it was given, and
// its signatures, for the id is not signed and can be changed. What has neither is known by
// its body.
func deliveriesOf(where address, header http.Header, given proof, body [sha256.Size]byte) [][sha256.Size]byte {
	var marks [][sha256.Size]byte
	mark := func(what, value string) {
		marks = append(marks, sha256.Sum256([]byte(string(where.kind)+"\n"+where.repository+"\n"+what+"\n"+value)))
	}
	if id := deliveryID(where.kind, header); id != "" {
		mark("id", id)
	}
	if where.kind != gitsync.WebhookGitLab { // Its requests may have signatures that nobody checked.
		for _, s := range given.signatures {
			mark("signature", string(s))
		}
	}
	if where.kind == gitsync.WebhookAzure {
		mark("body", string(body[:])) // It holds the id of the event.
	}
	return marks
}

func deliveryID(kind gitsync.WebhookType, header http.Header) string {
	switch kind {
	case gitsync.WebhookGitHub:
		return header.Get("X-GitHub-Delivery")
	case gitsync.WebhookGitea:
		return cmp.Or(header.Get("X-Forgejo-Delivery"), header.Get("X-Gitea-Delivery"), header.Get("X-GitHub-Delivery"))
	case gitsync.WebhookGitLab:
		return cmp.Or(header.Get("Webhook-Id"), header.Get("Idempotency-Key"), header.Get("X-Gitlab-Event-UUID"))
	case gitsync.WebhookBitbucket:
		return cmp.Or(header.Get("X-Request-UUID"), header.Get("X-Request-Id"))
	}
	return ""
}
