package githubapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v88/github"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// GitHub accepts signatures that are valid for at most ten minutes, and clocks differ.
	signedBefore = time.Minute
	signedFor    = 9 * time.Minute

	// maxWords limits how much of GitHub's message an error shows.
	maxWords = 300
)

// request is one call to the API of apps.
type request func(*github.AppsService) (*github.Response, error)

// call sends a request as the app. If GitHub refuses it and the local clock is wrong, it repeats it with GitHub's
// time, because signatures have a date. It returns GitHub's time, or zero if unknown.
func (s *Source) call(ctx context.Context, do request) (time.Time, error) {
	now := s.now()
	clock, err := s.callAt(ctx, now, do)
	if errors.Is(err, transport.ErrAuth) && !clock.IsZero() && clock.Sub(now).Abs() > signedBefore {
		return s.callAt(ctx, clock, do)
	}
	return clock, err
}

// callAt sends one request, signed at the given time.
func (s *Source) callAt(ctx context.Context, now time.Time, do request) (clock time.Time, err error) {
	signature, err := s.sign(now)
	if err != nil {
		return time.Time{}, err
	}
	base := s.config.URL + "/"
	api, err := github.NewClient(github.WithHTTPClient(s.http), github.WithURLs(&base, &base),
		github.WithAuthToken(signature), github.WithDisableRateLimitCheck())
	if err != nil {
		return time.Time{}, errors.New("the URL of the API cannot be used")
	}
	res, err := do(api.Apps)
	if res == nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return time.Time{}, fmt.Errorf("ask %s: %w", s.host, httpclient.PlainError(err))
	}
	clock, _ = http.ParseTime(res.Header.Get("Date")) // zero if there is none
	switch {
	case res.StatusCode/100 != 2:
		return clock, refusal(res.Response, signature)
	case errors.Is(err, httpclient.ErrTooLarge):
		return clock, fmt.Errorf("%s: %w", s.host, httpclient.ErrTooLarge)
	case err != nil: // it can quote the response
		return clock, fmt.Errorf("the answer of %s is not the expected JSON", s.host)
	}
	return clock, nil
}

// refusal returns the error of an unsuccessful response, with GitHub's message.
func refusal(res *http.Response, signature string) error {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.NewDecoder(res.Body).Decode(&said) // ignore the page of a proxy
	words := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(httpclient.Redact(said.Message, signature), "?"))
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + " ..."
	}
	err := fmt.Errorf("%s answers %d: %s", res.Request.URL.Host, res.StatusCode, words)
	limited := res.Header.Get("X-RateLimit-Remaining") == "0" || res.Header.Get("Retry-After") != ""
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		if !limited {
			return fmt.Errorf("%w: %w", transport.ErrAuth, err)
		}
	}
	return err
}

// sign returns the JSON Web Token that identifies the app.
func (s *Source) sign(now time.Time) (string, error) {
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		IssuedAt: jwt.NewNumericDate(now.Add(-signedBefore)), ExpiresAt: jwt.NewNumericDate(now.Add(signedFor)),
		Issuer: strconv.FormatInt(s.config.AppID, 10),
	}).SignedString(s.key)
	if err != nil {
		return "", errors.New("sign with the private key")
	}
	return token, nil
}
