package telemetry

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// dnsAddress is where the cluster's DNS listens, at DNS's own port.
const dnsAddress = "10.255.0.53"

// served is what is behind a Service: the addresses of its pods, and its ports by name.
type served struct {
	addresses []string
	ports     map[string]uint16
}

// behind returns what is behind a Service.
func (o objects) behind(s corev1.Service) served {
	out := served{ports: map[string]uint16{}}
	for _, port := range s.Spec.Ports {
		out.ports[port.Name] = uint16(port.Port)
	}
	for _, p := range o.pods {
		if p.Namespace == s.Namespace && p.Status.PodIP != "" && len(s.Spec.Selector) > 0 &&
			labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(p.Labels)) {
			out.addresses = append(out.addresses, p.Status.PodIP)
		}
	}
	return out
}

// resolve writes the file that leads containers of a pod to the DNS. Services of its own namespace have a short name.
func (p *pod) resolve() error {
	return os.WriteFile(filepath.Join(p.dir, "resolv.conf"),
		[]byte("search "+p.Namespace+".svc\nnameserver "+dnsAddress+"\n"), 0o600)
}

// startDNS starts the cluster's DNS: it knows the pods of a Service by its name, as if it had no
// address of its own, and by the names of its ports, as _http._tcp.web.store.svc.
func (k *kubelet) startDNS(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", dnsAddress+":53")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		request := make([]byte, 1<<12)
		for {
			n, from, err := conn.ReadFrom(request)
			if err != nil {
				return
			}
			if answer, err := k.answer(request[:n]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
}

// answer returns the answer to a question.
func (k *kubelet) answer(request []byte) ([]byte, error) {
	var question dnsmessage.Message
	if err := question.Unpack(request); err != nil {
		return nil, err
	}
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true},
		Questions: question.Questions}
	answer.RCode = dnsmessage.RCodeNameError
	for _, q := range question.Questions {
		resources, ok := k.records(q)
		if ok {
			answer.RCode = dnsmessage.RCodeSuccess
		}
		answer.Answers = append(answer.Answers, resources...)
	}
	return answer.Pack()
}

// records returns what is known under a name: addresses, or ports of addresses. The name of a pod begins with its
// address, as in 10-1-0-1.web.store.svc.
func (k *kubelet) records(q dnsmessage.Question) (out []dnsmessage.Resource, known bool) {
	name := strings.TrimSuffix(q.Name.String(), ".")
	port, service, named := strings.Cut(name, "._tcp.")
	if !named {
		service = name
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	behind, known := k.services[service]
	if first, _, _ := strings.Cut(name, "."); !known {
		behind.addresses = []string{strings.ReplaceAll(first, "-", ".")} // If it is none, it is left out.
	}
	for _, address := range behind.addresses {
		header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
		ip, err := netip.ParseAddr(address)
		if err != nil {
			continue
		}
		known = true
		switch {
		case q.Type == dnsmessage.TypeA && !named:
			out = append(out, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
		case q.Type == dnsmessage.TypeSRV && !named: // Of all ports.
			for _, number := range behind.ports {
				out = append(out, dnsmessage.Resource{Header: header,
					Body: &dnsmessage.SRVResource{Target: dnsmessage.MustNewName(strings.ReplaceAll(address, ".", "-") +
						"." + q.Name.String()), Port: number}})
			}
		case q.Type == dnsmessage.TypeSRV && behind.ports[strings.TrimPrefix(port, "_")] > 0:
			out = append(out, dnsmessage.Resource{Header: header, Body: &dnsmessage.SRVResource{
				Target: dnsmessage.MustNewName(address + "."), Port: behind.ports[strings.TrimPrefix(port, "_")],
			}})
		}
	}
	return out, known
}
