package service

import (
	"crypto/tls"
	"errors"
	"os"

	"github.com/agentry-dev/agentry/internal/server"
	"github.com/agentry-dev/agentry/sd/rotate"
)

// token reads the bearer token of the admin listener; nil if there is none, which only a
// listener on loopback may do without.
func (s *service) token() (func() string, error) {
	if s.options.TokenFile == "" {
		if !server.IsLoopback(s.options.AdminListen.Address) {
			return nil, errors.New("an admin listener that is not on loopback needs a bearer token file")
		}
		return nil, nil
	}
	value, err := rotate.Token(s.options.TokenFile, s.reloadFailed)
	if err != nil {
		return nil, err
	}
	return value.Get, nil
}

func keyPair(a Address, failed func(error)) (func() *tls.Certificate, error) {
	pair, err := rotate.KeyPair(a.CertFile, a.KeyFile, failed)
	if err != nil {
		return nil, err
	}
	return pair.Get, nil
}

func (s *service) reloadFailed(err error) {
	s.log.Error("a changed file cannot be used, the previous one stays in force", "err", err)
}

// instance names this process among replicas: the pod, or the machine.
func instance() string {
	name, err := os.Hostname()
	if err != nil {
		return "agentry"
	}
	return name
}
