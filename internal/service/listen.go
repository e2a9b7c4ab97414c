package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/agentry-dev/agentry/internal/delivery"
	"github.com/agentry-dev/agentry/internal/httpserver"
	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/internal/webhook"
	"github.com/agentry-dev/agentry/sd/rotate"
)

// Address is a listen address, with TLS if it has a certificate. The certificate's files can change.
type Address struct {
	Address           string
	CertFile, KeyFile string
}

// listen opens the admin listener and the webhook listener.
func (s *service) listen(ctx context.Context) ([]httpserver.Listener, error) {
	var err error
	if s.login, err = s.newLogin(); err != nil {
		return nil, err
	}
	token, readToken, err := s.tokens()
	if err != nil {
		return nil, err
	}
	admin, err := s.open(ctx, s.options.AdminListen)
	if err != nil {
		return nil, err
	}
	admin.Handler, err = server.NewAdmin(server.Options{
		Fleet: s.fleet, Delivery: s.delivery, Trigger: s.trigger, Version: s.options.Version,
		Metrics: s.metrics.Registry(), Token: token, ReadToken: readToken, Login: s.login, Log: s.log,
	})
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	if (token != nil || readToken != nil) && admin.TLS == nil && !server.IsLoopback(admin.Addr().String()) {
		s.log.Warn("the admin listener has no TLS: others on the network can read the bearer token")
	}
	if s.options.Listen.Address == "" {
		return []httpserver.Listener{admin}, nil
	}
	handler, err := s.listenHandler()
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	hooks, err := s.open(ctx, s.options.Listen)
	if err != nil {
		return nil, errors.Join(err, admin.Close())
	}
	hooks.Handler = handler
	return []httpserver.Listener{admin, hooks}, nil
}

// listenHandler returns the handler of webhooks, and of reports about clusters if there is a token for these.
func (s *service) listenHandler() (http.Handler, error) {
	token, err := s.token(s.options.DeliveryTokenFile)
	if err != nil || token == nil {
		return s.hooks, err
	}
	reports := delivery.NewHandler(delivery.HandlerOptions{
		Token: token, Gate: s.gate, Record: s.report, Log: s.log,
		Observe: func(source string, result webhook.Result) { s.metrics.Webhook(source, string(result)) },
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if delivery.Handles(r) {
			reports.ServeHTTP(w, r)
			return
		}
		s.hooks.ServeHTTP(w, r)
	}), nil
}

func (s *service) open(ctx context.Context, a Address) (out httpserver.Listener, err error) {
	if a.CertFile != "" {
		pair, err := rotate.KeyPair(a.CertFile, a.KeyFile, s.keepFile)
		if err != nil {
			return out, err
		}
		out.TLS = httpserver.TLS(pair.Get)
	}
	var config net.ListenConfig
	out.Listener, err = config.Listen(ctx, "tcp", a.Address)
	return out, err
}

// tokens reads the bearer tokens of the admin listener: one for acting, and one for reading. It returns nil for a
// token that is not configured.
func (s *service) tokens() (act, read func() string, err error) {
	if s.options.TokenFile == "" && s.login == nil && !server.IsLoopback(s.options.AdminListen.Address) {
		return nil, nil, errors.New("an admin listener that is not on loopback needs a bearer token file or a login")
	}
	if act, err = s.token(s.options.TokenFile); err != nil {
		return nil, nil, err
	}
	read, err = s.token(s.options.ReadTokenFile)
	return act, read, err
}

// token reads a token from a file, which may change. It returns nil if there is no file.
func (s *service) token(file string, checks ...func(string) error) (func() string, error) {
	if file == "" {
		return nil, nil
	}
	value, err := rotate.Token(file, s.keepFile, checks...)
	if err != nil {
		return nil, err
	}
	return value.Get, nil
}

// keepFile logs the error about a changed file that is not used.
func (s *service) keepFile(err error) {
	s.log.Error("a changed file cannot be used; the previous content stays in use", "err", err)
}

// instance returns the name of this process among replicas: the name of its pod or its machine.
func instance() string {
	name, err := os.Hostname()
	if err != nil {
		return "agentry"
	}
	return name
}
