package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// The two programs that a remote runs for us.
const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// service is one run of uploadPack or receivePack on the remote: it advertises
// its refs, then takes at most one request and gives at most one answer. The
// context that it was started with ends it, whatever it is doing.
type service interface {
	// advertised is the stream of the refs.
	advertised() (io.Reader, error)
	// exchange sends the request and gives the answer's stream. It is to be
	// called after the refs were read.
	exchange(request []byte) (io.Reader, error)
	// complaint is what the remote said beside the protocol.
	complaint() string
	io.Closer
}

// client starts services of one remote with one credential. It may be used by
// many goroutines.
type client struct {
	at    location
	auth  Auth
	stall time.Duration
	http  *http.Client // for http and https
	ssh   *sshConfig   // for ssh

	mu    sync.Mutex
	token string // the last one of Auth.Token
}

// newClient prepares a client; it contacts nobody.
func newClient(at location, auth Auth, opts Options) (*client, error) {
	if err := auth.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", at.normal(), err)
	}
	c := &client{at: at, auth: auth, stall: opts.StallTimeout}
	var err error
	switch at.scheme {
	case "http", "https":
		c.http, err = newHTTPClient(auth)
	case "ssh":
		c.ssh, err = newSSHConfig(at, auth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.normal(), err)
	}
	return c, nil
}

// close lets go of idle connections.
func (c *client) close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// maxAdvertisement is how many bytes of refs are taken, some million refs.
const maxAdvertisement = 128 << 20

// readAdvertisement reads the refs; an empty repository has none.
func readAdvertisement(svc service) (*packp.AdvRefs, error) {
	in, err := svc.advertised()
	if err != nil {
		return nil, err
	}
	adv := packp.NewAdvRefs()
	err = adv.Decode(limit.Reader(in, maxAdvertisement, "list of refs"))
	if err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
		return nil, err
	}
	return adv, nil
}

// secrets lists what must never be shown.
func (c *client) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.auth.secrets(c.token)
}

// explain turns what went wrong into an error of a known kind that names the
// remote and shows no secret. words is what the remote said about it.
func (c *client) explain(ctx context.Context, action string, err error, words string) error {
	return c.explainCause(context.Cause(ctx), action, err, words)
}

// explainCause is explain where the context has ended since, of which cause says why.
func (c *client) explainCause(cause error, action string, err error, words string) error {
	kind := kindOf(cause, err, words)
	text := strings.TrimPrefix(err.Error(), kind.Error()+": ")
	if errors.Is(err, packp.ErrEmptyInput) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		text = "the connection ended early"
	}
	if cause != nil {
		text, err = cause.Error(), cause
	}
	if words != "" {
		text += ": " + words
	}
	remote := &remoteError{kind: kind, text: remoteText(text, c.secrets()), cause: err}
	return fmt.Errorf("%s of %s: %w", action, c.at.normal(), remote)
}

// kindOf sorts an error into the sentinels. Remotes tell most refusals in words
// only; what is not recognised counts as unreachable, which is tried again.
func kindOf(cause, err error, words string) error {
	for _, kind := range []error{ErrAuth, ErrHostKey, ErrRepositoryNotFound, limit.ErrTooLarge, ErrRefNotFound} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	if cause != nil {
		return ErrUnreachable
	}
	var line *pktline.ErrorLine
	if errors.As(err, &line) {
		words += " " + line.Text
	}
	switch {
	case containsAny(words, "not our ref"):
		return ErrRefNotFound
	case containsAny(words, "permission denied", "permission to ", "access denied", "not allowed", "unauthorized", "authentication failed",
		"write access", "read only", "read-only", "insufficient permission", "denied to"):
		return ErrAuth
	case containsAny(words, "not found", "does not exist", "does not appear to be a git repository", "not a git repository",
		"no such repository", "could not be found"):
		return ErrRepositoryNotFound
	}
	return ErrUnreachable
}
