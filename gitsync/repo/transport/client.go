package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// Program is what a remote runs for us.
type Program string

// The programs.
const (
	UploadPack  Program = "git-upload-pack"  // for fetches
	ReceivePack Program = "git-receive-pack" // for pushes
)

// service is one run of a program on the remote: it advertises its refs, then takes at most one
// request and gives at most one answer. The context that it was started with ends it, whatever it is
// doing.
type service interface {
	// advertised is the stream of the refs.
	advertised() (io.Reader, error)
	// exchange sends the request and gives the answer's stream. It is called after the refs were read.
	exchange(request []byte) (io.Reader, error)
	// stderr is what the remote said beside the protocol.
	stderr() string
	io.Closer
}

// Client starts programs of one remote with one credential. It may be used by many goroutines.
type Client struct {
	at    Address
	auth  Auth
	stall time.Duration
	http  *http.Client // for http and https
	ssh   *sshConfig   // for ssh

	mu    sync.Mutex
	token string // the last one of Auth.Token
}

// NewClient prepares a client; it contacts nobody. A remote that sends or takes less than 1 KiB in each
// stallTimeout that it keeps us waiting is [ErrUnreachable]; after a request it has four times as long.
func NewClient(remote Remote, stallTimeout time.Duration) (*Client, error) {
	at, err := ParseURL(remote.URL)
	if err != nil {
		return nil, err
	}
	auth := remote.Auth
	if err := auth.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	c := &Client{at: at, auth: auth, stall: stallTimeout}
	switch at.scheme {
	case "http", "https":
		c.http, err = newHTTPClient(auth)
	case "ssh":
		c.ssh, err = newSSHConfig(at, auth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return c, nil
}

// URL is the normalised URL of the remote.
func (c *Client) URL() string { return c.at.String() }

// Auth is the credential.
func (c *Client) Auth() Auth { return c.auth }

// Close closes idle connections. Sessions under way go on.
func (c *Client) Close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// maxAdvertisement is how many bytes of refs are read: some million refs.
const maxAdvertisement = 128 << 20

// readAdvertisement reads the refs; an empty repository has none.
func readAdvertisement(svc service) (Advertisement, error) {
	in, err := svc.advertised()
	if err != nil {
		return Advertisement{}, err
	}
	adv := packp.NewAdvRefs()
	err = adv.Decode(limit.Reader(in, maxAdvertisement, "list of refs"))
	if err != nil && !errors.Is(err, packp.ErrEmptyAdvRefs) {
		return Advertisement{}, err
	}
	return Advertisement{adv}, nil
}

// secrets lists what must never be shown.
func (c *Client) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.auth.secrets(c.token)
}
