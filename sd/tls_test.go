package sd

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"testing"
	"time"

	"github.com/agentry-dev/agentry/sd/poll"
	"github.com/agentry-dev/agentry/test/sd/rig"
)

// TestPodsThatSpeakTLS has pods with their own certificates, most of them bad. All pods require ours.
func TestPodsThatSpeakTLS(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	past := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	}
	certificates := []*tls.Certificate{
		ours.issue(),
		ours.issueFor(past),
		ours.issueFor(func(c *x509.Certificate) { c.DNSNames = []string{"other"} }),
		ours.issueFor(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }),
		theirs.issue(),
	}
	byAddress := map[string]*tls.Certificate{}
	for i, c := range certificates {
		byAddress[rig.Addr(i).String()] = c
	}
	r := newTestbed(t)
	r.pods = newPods(t, &tls.Config{
		ClientCAs: ours.Pool, ClientAuth: tls.RequireAndVerifyClientCert,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return byAddress[netip.MustParseAddrPort(hello.Conn.LocalAddr().String()).Addr().String()], nil
		},
	})
	r.putAll(true, numbered(len(certificates)))
	replica := func(own *tls.Certificate) {
		r.sd, _ = r.replica(Options{Source: r.source(), PodTLS: func() *tls.Config {
			return &tls.Config{RootCAs: ours.Pool, ServerName: "pod", Certificates: []tls.Certificate{*own}}
		}})
	}
	replica(ours.issue())
	r.until("all were tried", func() bool { return len(r.byAddress()) == len(certificates) })
	r.until("the good one answers", func() bool { return len(r.targets("")) == len(rig.Typical()) })
	for i := 1; i < len(certificates); i++ {
		if p := r.byAddress()[rig.Addr(i)]; p.State != poll.StateFailing || p.Reason != poll.ReasonTLS {
			t.Errorf("pod %d: %+v", i, p)
		}
	}
	replica(theirs.issue()) // No pod talks to this one.
	r.until("all fail", func() bool { return r.byAddress()[rig.Addr(0)].State == poll.StateFailing })
	r.untilTargets("")
}

// TestPodsThatDoNotSpeakTLS get no request.
func TestPodsThatDoNotSpeakTLS(t *testing.T) {
	r := newTestbed(t)
	r.sd, _ = r.replica(Options{Source: r.source(), PodTLS: func() *tls.Config {
		return &tls.Config{ServerName: "pod"}
	}})
	r.putAll(true, numbered(1))
	r.until("it fails", func() bool { return r.byAddress()[rig.Addr(0)].Reason == poll.ReasonTLS })
}
