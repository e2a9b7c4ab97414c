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

// Peers says how to reach the other replicas. They are asked once, at the start, for the last answers of pods that do
// not answer. Otherwise the targets of these pods would disappear with the old replica.
type Peers struct {
	// Host is the DNS name of a headless Service of all ready replicas. Port is where they serve the
	// document.
	Host     string
	Port     uint16
	Resolver discover.Resolver
	// TLS returns the settings for one connection, see [PeerTLS]. If nil, peers are asked over HTTP.
	TLS func() *tls.Config
	// Token returns the bearer token that replicas require. It may be nil.
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

// PeerTLS makes the settings for connections between replicas. All replicas have the same certificate,
// from one Secret, so whoever presents it is a replica.
func PeerTLS(certificate func() *tls.Certificate) func() *tls.Config {
	return func() *tls.Config {
		own := certificate()
		return &tls.Config{
			MinVersion: tls.VersionTLS12,
			// Also for peers that do not list our authority.
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil },
			InsecureSkipVerify:   true, // Only the certificate itself is checked, not its authority or name:
			VerifyConnection: func(state tls.ConnectionState) error {
				if !state.PeerCertificates[0].Equal(own.Leaf) {
					return errors.New("the peer shows another certificate than ours")
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

// memory asks other replicas for the answers that they remember.
type memory struct {
	peers  Peers
	client *poll.Client
	scheme string // that pods are asked over
	limits merge.Limits
	log    *slog.Logger
}

func newMemory(o Options, pods *poll.Client) *memory {
	return &memory{
		peers: *o.Peers, scheme: pods.Scheme(), limits: o.Limits, log: o.Log,
		client: poll.NewClient(poll.ClientOptions{
			TLS: o.Peers.TLS, Token: o.Peers.Token, Path: Path, MaxBytes: int64(o.MaxDocumentBytes),
			UserAgent: userAgent(o.Version),
		}),
	}
}

// recall returns what the first ready peer knows about each pod. If no peer is ready, as at the very first start,
// nothing is known.
func (m *memory) recall(ctx context.Context, pods []poll.Pod) []*merge.Fragment {
	ctx, cancel := context.WithTimeout(ctx, recallTimeout)
	defer cancel()
	addrs, err := m.peers.Resolver.LookupNetIP(ctx, "ip", m.peers.Host)
	if err != nil {
		m.log.Info("no peer to ask for pods that do not answer", "name", m.peers.Host, "err", err)
	}
	for _, addr := range addrs {
		peer := netip.AddrPortFrom(addr.Unmap(), m.peers.Port)
		fragments, err := m.ask(ctx, peer, pods)
		if err != nil {
			m.log.Info("a peer has no answer of these pods", "addr", peer, "err", err)
			continue
		}
		m.log.Info("asked a peer for pods that do not answer", "addr", peer, "pods", len(pods), "known",
			known(fragments))
		return fragments
	}
	return make([]*merge.Fragment, len(pods))
}

func (m *memory) ask(ctx context.Context, peer netip.AddrPort, pods []poll.Pod) ([]*merge.Fragment, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	var document bytes.Buffer
	if err := m.client.Fetch(ctx, peer, &document); err != nil {
		return nil, err
	}
	sources := make([]merge.Source, len(pods))
	for i, pod := range pods {
		sources[i] = merge.Source{Owner: pod.Owner, Addr: pod.Addr, Scheme: m.scheme}
	}
	return merge.Split(document.Bytes(), sources, m.limits)
}

func known(fragments []*merge.Fragment) (n int) {
	for _, f := range fragments {
		if f != nil {
			n++
		}
	}
	return n
}
