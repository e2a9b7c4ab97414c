package sd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/agentry-dev/agentry/sd/discover"
	"github.com/agentry-dev/agentry/sd/merge"
	"github.com/agentry-dev/agentry/sd/poll"
)

const (
	// recallTimeout bounds how long readiness waits for all peers, peerTimeout how long for one.
	recallTimeout = 5 * time.Second
	peerTimeout   = 2 * time.Second
)

// Peers says how to reach the other replicas. A starting replica asks them once for the last answers of pods that do
// not answer it. Otherwise the targets of these pods would disappear with the old replica.
type Peers struct {
	// Host is the DNS name of a headless Service of all ready replicas, and Port the port of their document.
	Host     string
	Port     uint16
	Resolver discover.Resolver
	// TLS returns the settings for one connection, see [PeerTLS]. If nil, peers are asked over HTTP.
	TLS func() *tls.Config
	// Token returns the bearer token that replicas require, if it is not nil.
	Token func() string
}

// ParsePeers reads HOST:PORT.
func ParsePeers(text string) (Peers, error) {
	host, port, err := net.SplitHostPort(text)
	number, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil || host == "" || number == 0 {
		return Peers{}, fmt.Errorf("%q is not HOST:PORT", text)
	}
	return Peers{Host: host, Port: uint16(number)}, nil
}

// PeerTLS makes the TLS settings for connections between replicas. All replicas have the same certificate, from one
// Secret, so a peer that presents it is a replica.
func PeerTLS(certificate func() *tls.Certificate) func() *tls.Config {
	return func() *tls.Config {
		own := certificate()
		return &tls.Config{
			MinVersion: tls.VersionTLS12,
			// Present it even to a peer whose list of authorities lacks ours.
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil },
			InsecureSkipVerify:   true, // VerifyConnection compares the whole certificate instead.
			VerifyConnection: func(state tls.ConnectionState) error {
				if !state.PeerCertificates[0].Equal(own.Leaf) {
					return errors.New("the peer's certificate is not ours")
				}
				return nil
			},
		}
	}
}

// withReplicas adds the certificate of the replicas to the authorities of clients.
func withReplicas(clients *x509.CertPool, own *tls.Certificate) *x509.CertPool {
	clients = clients.Clone()
	clients.AddCert(own.Leaf)
	return clients
}

// recaller asks other replicas for the last good answers of pods.
type recaller struct {
	peers  Peers
	client *poll.Client
	scheme string // of requests to pods
	limits merge.Limits
	log    *slog.Logger
}

func newRecaller(o Options, pods *poll.Client) *recaller {
	return &recaller{
		peers: *o.Peers, scheme: pods.Scheme(), limits: o.Limits, log: o.Log,
		client: poll.NewClient(poll.ClientOptions{
			TLS: o.Peers.TLS, Token: o.Peers.Token, Path: Path, MaxBytes: int64(o.MaxDocumentBytes),
			UserAgent: userAgent(o.Version),
		}),
	}
}

// recall returns the last answer of each pod to the first ready peer, or nil for each if no peer is ready, as at the
// very first start.
func (r *recaller) recall(ctx context.Context, pods []poll.Pod) []*merge.Fragment {
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	addrs, err := r.peers.Resolver.LookupNetIP(ctx, "ip", r.peers.Host)
	if err != nil {
		r.log.Info("no peer to ask for pods that do not answer", "name", r.peers.Host, "err", err)
	}
	for _, addr := range addrs {
		peer := netip.AddrPortFrom(addr.Unmap(), r.peers.Port)
		fragments, err := r.ask(ctx, peer, pods)
		if err != nil {
			r.log.Info("cannot get the last answers of pods from a peer", "addr", peer, "err", err)
			continue
		}
		r.log.Info("asked a peer for pods that do not answer", "addr", peer, "pods", len(pods), "known",
			known(fragments))
		return fragments
	}
	return make([]*merge.Fragment, len(pods))
}

func (r *recaller) ask(ctx context.Context, peer netip.AddrPort, pods []poll.Pod) ([]*merge.Fragment, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	var document bytes.Buffer
	if err := r.client.Fetch(ctx, peer, &document); err != nil {
		return nil, err
	}
	sources := make([]merge.Source, len(pods))
	for i, pod := range pods {
		sources[i] = merge.Source{Owner: pod.Owner, Addr: pod.Addr, Scheme: r.scheme}
	}
	return merge.Split(document.Bytes(), sources, r.limits)
}

func known(fragments []*merge.Fragment) (n int) {
	for _, f := range fragments {
		if f != nil {
			n++
		}
	}
	return n
}
