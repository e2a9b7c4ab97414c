package transport

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
)

// Program is a Git program that a remote runs.
type Program string

// The programs.
const (
	UploadPack  Program = "git-upload-pack"  // for fetches
	ReceivePack Program = "git-receive-pack" // for pushes
)

// service is one run of a program on the remote: it advertises its refs, then accepts at most one request and sends
// at most one response. It ends at once when its context ends.
type service interface {
	// advertised returns the stream with the refs.
	advertised() (io.Reader, error)
	// exchange sends the request and returns the stream with the response. It must be called after reading the refs.
	exchange(request net.Buffers) (io.Reader, error)
	// stderr returns the remote's messages outside the protocol.
	stderr() string
	io.Closer
}

// Client runs programs on one remote with one credential. Many goroutines can use it.
type Client struct {
	at    Address
	auth  Auth
	stall time.Duration
	http  *http.Client // for http and https
	ssh   *sshConfig   // for ssh

	mu    sync.Mutex
	token string // the last token of Auth.Token
}

// NewClient returns a client. It sends no request. A remote that sends or accepts less than 1 KiB within
// stallTimeout is [ErrUnreachable]; after a request it has four times as long.
func NewClient(remote Remote, stallTimeout time.Duration) (*Client, error) {
	at, err := parseURL(remote.URL)
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

// URL returns the normalised URL of the remote.
func (c *Client) URL() string { return c.at.String() }

// Auth returns the credential.
func (c *Client) Auth() Auth { return c.auth }

// Close closes idle connections. Running sessions continue.
func (c *Client) Close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// maxAdvertisement limits the bytes of the list of refs. It is enough for some million refs.
const maxAdvertisement = 128 << 20

// readAdvertisement reads the refs. An empty repository has none.
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

// secrets returns the texts that must never be shown.
func (c *Client) secrets() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.auth.secrets(c.token)
	for _, password := range []string{c.auth.Password, c.token} {
		if password != "" { // as in the header Authorization
			out = append(out, base64.RawStdEncoding.EncodeToString([]byte(c.auth.userOr(c.at.user)+":"+password)))
		}
	}
	return out
}
