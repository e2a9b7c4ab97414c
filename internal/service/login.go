package service

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/login"
)

// Login is how people log in to the console.
type Login struct {
	login.Settings
	// CAFile holds certificates that the issuer's chain may end in, besides the system's.
	CAFile string
	// ClientSecretFile and SessionKeyFile hold what the variables [ClientSecretVariable] and [SessionKeyVariable] hold
	// otherwise. They may change.
	ClientSecretFile, SessionKeyFile string
}

// The environment variables with the secrets of a login.
const (
	ClientSecretVariable = "AGENTRY_OIDC_CLIENT_SECRET"
	SessionKeyVariable   = "AGENTRY_SESSION_KEY"
)

// The limits of asking an issuer.
const (
	issuerTimeout  = 10 * time.Second
	maxIssuerBytes = 1 << 20
)

// newLogin returns nil if nobody can log in.
func (s *service) newLogin() (*login.Login, error) {
	o := s.options.Login
	if o.Issuer == "" {
		return nil, nil
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	secret, err := s.secret(o.ClientSecretFile, ClientSecretVariable)
	if err != nil {
		return nil, err
	}
	key, err := s.sessionKey(o.SessionKeyFile)
	if err != nil {
		return nil, err
	}
	var connection httpclient.Connection
	if o.CAFile != "" {
		if connection.CAPEM, err = os.ReadFile(o.CAFile); err != nil {
			return nil, err
		}
	}
	client, err := new(httpclient.Pool).Client(connection,
		httpclient.Options{Timeout: issuerTimeout, MaxAnswerBytes: maxIssuerBytes, Allow: login.Allow})
	if err != nil {
		return nil, fmt.Errorf("the issuer's %w", err)
	}
	return login.New(login.Options{Settings: o.Settings, ClientSecret: secret, Key: key, Client: client, Log: s.log}),
		nil
}

// secret returns what a file holds, or a variable of the environment. The checks are made whenever the file changes.
func (s *service) secret(file, variable string, checks ...func(string) error) (func() string, error) {
	if file != "" {
		return s.token(file, checks...)
	}
	value, _ := s.options.Getenv(variable)
	for _, check := range checks {
		if err := check(value); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	return func() string { return value }, nil
}

// sessionKey returns the key that sessions are encrypted with. Without one that replicas and later processes share, it
// is for this process alone.
func (s *service) sessionKey(file string) (func() string, error) {
	if value, _ := s.options.Getenv(SessionKeyVariable); file == "" && value == "" {
		random := rand.Text() + rand.Text()
		return func() string { return random }, nil
	}
	return s.secret(file, SessionKeyVariable, func(key string) error {
		if len(key) < login.MinKey {
			return fmt.Errorf("the session key has %d characters and needs %d: make one with openssl rand -hex 32",
				len(key), login.MinKey)
		}
		return nil
	})
}
