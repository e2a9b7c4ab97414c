package telemetry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The login that the pods of the testbed know.
const user, password = "scraper", "correct horse"

// serve stands for the program of a container, at all ports of it. Those whose name begins with
// https have TLS, with a certificate that nobody trusts.
func (p *pod) serve(c corev1.Container) error {
	if len(p.servers) > 0 {
		return nil
	}
	for _, port := range c.Ports {
		listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", p.address, port.ContainerPort))
		if err != nil {
			return err
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(p.page)}}
		if strings.HasPrefix(port.Name, "https") {
			server.StartTLS()
		} else {
			server.Start()
		}
		p.servers = append(p.servers, server)
	}
	return nil
}

// page is a page of metrics of any program: it says whose it is, what it was asked for and by
// whom, and makes claims that labels of targets are at odds with.
func (p *pod) page(w http.ResponseWriter, r *http.Request) {
	number := p.address[strings.LastIndex(p.address, ".")+1:]
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(w, "number %s\n", number)
	fmt.Fprintf(w, "asked{path=%q,query=%q,login=%q} 1\n", r.URL.Path, r.URL.Query().Encode(), login(r))
	fmt.Fprintf(w, "claims{namespace=\"claimed\",job=\"claimed\",tenant_ns=\"claimed\",fake_owner=\"claimed\"} %s\n",
		number)
	fmt.Fprintf(w, "go_noise 1\n")
}

// login says who asks: a user that is known, the account of a token, or nobody.
func login(r *http.Request) string {
	if name, secret, ok := r.BasicAuth(); ok {
		if secret != password {
			return "wrong password"
		}
		return name
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	parts := strings.Split(token, ".")
	var claims struct {
		Sub string `json:"sub"`
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return "no token"
	}
	return claims.Sub
}
