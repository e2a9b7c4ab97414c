package service

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/login"
)

// Login has the settings for logging in to the console.
type Login struct {
	login.Settings
	// CAFile has CA certificates for the issuer, besides the system's.
	CAFile string
	// ClientSecretFile and SessionKeyFile contain the values that are otherwise in the variables
	// [ClientSecretVariable] and [SessionKeyVariable]. They may change.
	ClientSecretFile, SessionKeyFile string
}

// The environment variables with the secrets of a login.
const (
	ClientSecretVariable = "AGENTRY_OIDC_CLIENT_SECRET"
	SessionKeyVariable   = "AGENTRY_SESSION_KEY"
)

// Limits of requests to an issuer.
const (
	issuerTimeout  = 10 * time.Second
	maxIssuerBytes = 1 << 20
)

// newLogin returns nil if no login is configured.
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

// secret returns the content of a file, or of an environment variable. The checks run whenever the file changes.
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

// sessionKey returns the key that encrypts sessions. If none is configured, which replicas and later processes could
// share, the key is for this process only.
func (s *service) sessionKey(file string) (func() string, error) {
	if value, _ := s.options.Getenv(SessionKeyVariable); file == "" && value == "" {
		random := rand.Text() + rand.Text()
		return func() string { return random }, nil
	}
	return s.secret(file, SessionKeyVariable, func(key string) error {
		if len(key) < login.MinKey {
			return fmt.Errorf("the session key has %d characters and needs %d: create one with openssl rand -hex 32",
				len(key), login.MinKey)
		}
		return nil
	})
}
