package cli

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/agentry-dev/agentry/internal/cli/command"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/server"
)

const (
	// maxAnswerBytes limits a response of the service; it is enough for ten thousand pipelines.
	maxAnswerBytes = 256 << 20
	requestTimeout = 30 * time.Second
)

// serviceFlags returns the flags of all commands that ask a running service.
func serviceFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: addressFlag, Value: "http://" + defaultAdminListen,
			Usage: "`URL` of the service's admin listener"},
	}, authorityFlags()...)
}

// addressFlag is the flag of commands that always ask a service.
const addressFlag = "address"

// authorityFlags returns the flags for whom to trust, and as whom to ask.
func authorityFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "bearer-token-file", Usage: "`FILE` with the token that it asks for"},
		&cli.StringFlag{Name: "ca-file", Usage: "`FILE` with the authorities to trust instead of the system's"},
	}
}

// asker sends requests to a running service.
type asker struct {
	base   *url.URL
	token  string
	client *http.Client
}

// errUnknownPipeline means that the service has no pipeline of that name.
var errUnknownPipeline = errors.New("no such pipeline")

// newAsker returns a client of the service that a flag names.
func newAsker(flags *cli.Context, address string) (*asker, error) {
	base, err := url.Parse(flags.String(address))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.User != nil ||
		base.RawQuery != "" {
		return nil, command.Usagef("write it like http://"+defaultAdminListen, "--%s is not the URL of a service",
			address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	a := &asker{base: base, client: &http.Client{
		Transport: transport, Timeout: requestTimeout,
		// the token is for this host only
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if name := flags.String("ca-file"); name != "" {
		pem, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, command.Usagef("", "--ca-file %s holds no certificate in PEM form", name)
		}
	}
	if name := flags.String("bearer-token-file"); name != "" {
		token, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		a.token = strings.TrimSpace(string(token))
	}
	return a, nil
}

// ask sends a request and decodes the response into out.
func (a *asker) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	path, query, _ := strings.Cut(path, "?")
	to := a.base.JoinPath(path)
	to.RawQuery = query
	r, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return err
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return command.RepositoryError(err, "is agentry serve running there? --address names its --admin-listen")
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return command.RepositoryError(fmt.Errorf("%s: %w", a.base, err), "")
	case answer.StatusCode/100 != 2:
		return a.refused(answer.StatusCode, text)
	case len(text) > maxAnswerBytes:
		return command.RepositoryError(fmt.Errorf("%s: the answer is larger than %d bytes", a.base, maxAnswerBytes), "")
	}
	if err := json.Unmarshal(text, out); err != nil {
		return command.RepositoryError(fmt.Errorf("%s does not answer as agentry serve does: %w", a.base, err),
			"--address names its --admin-listen")
	}
	return nil
}

// refused returns the error of a response that is not a success.
func (a *asker) refused(status int, text []byte) error {
	var problem server.Problem
	known := json.Unmarshal(text, &problem) == nil && problem.Error != ""
	problem.Error = httpclient.Redact(problem.Error, a.token)
	switch {
	case status == http.StatusNotFound && known && problem.Hint == "":
		return errUnknownPipeline
	case status == http.StatusNotFound && known, status == http.StatusBadRequest && known:
		return command.Usagef(httpclient.Redact(problem.Hint, a.token), "%s", problem.Error)
	case status == http.StatusConflict && known:
		return command.Usagef("set spec.suspend to false", "%s", problem.Error)
	case status == http.StatusUnauthorized:
		return command.RepositoryError(fmt.Errorf("%s asks for another bearer token", a.base),
			"name its file with --bearer-token-file")
	case known:
		return command.RepositoryError(fmt.Errorf("%s: %s", a.base, problem.Error), "")
	}
	return command.RepositoryError(fmt.Errorf("%s answers %s", a.base, http.StatusText(status)),
		"--address names the --admin-listen of agentry serve")
}
