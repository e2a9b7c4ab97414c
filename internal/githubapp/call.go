package githubapp

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentry-dev/agentry/gitsync/repo/transport"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

const (
	// GitHub takes a signature of at most ten minutes, and clocks differ.
	signedBefore = time.Minute
	signedFor    = 9 * time.Minute

	// maxWords is how much of GitHub's own words an error shows.
	maxWords = 300
)

// call makes a request as the app, and makes it again by GitHub's clock if that was refused and ours
// is wrong: a signature has a date. It gives the time on GitHub's clock, zero if unknown.
func (s *Source) call(ctx context.Context, method, path string, out any) (time.Time, error) {
	now := s.now()
	clock, err := s.request(ctx, now, method, path, out)
	if errors.Is(err, transport.ErrAuth) && !clock.IsZero() && clock.Sub(now).Abs() > signedBefore {
		return s.request(ctx, clock, method, path, out)
	}
	return clock, err
}

// request makes one request that is signed at a time.
func (s *Source) request(ctx context.Context, now time.Time, method, path string, out any) (time.Time, error) {
	signature, err := s.sign(now)
	if err != nil {
		return time.Time{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.config.URL+path, http.NoBody)
	if err != nil {
		return time.Time{}, errors.New("the path is not one of a URL")
	}
	req.Header.Set("Authorization", "Bearer "+signature)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	res, err := s.http.Do(req)
	if err != nil {
		err = httpclient.PlainError(err)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return time.Time{}, fmt.Errorf("ask %s: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the answer of %s: %w", req.URL.Host, err)
	}
	clock, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		clock = time.Time{}
	}
	if res.StatusCode/100 != 2 {
		return clock, refusal(res, body)
	}
	if json.Unmarshal(body, out) != nil { // its errors may quote what they read
		return clock, fmt.Errorf("the answer of %s is not the JSON that is expected", req.URL.Host)
	}
	return clock, nil
}

// refusal is an answer other than of success, in GitHub's words.
func refusal(res *http.Response, body []byte) error {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &said) // a page of a proxy is not shown
	words := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said.Message, "?"))
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

// sign makes the JSON Web Token, RS256, that says who we are.
func (s *Source) sign(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{
		"iat": now.Add(-signedBefore).Unix(), "exp": now.Add(signedFor).Unix(), "iss": strconv.FormatInt(s.config.AppID, 10),
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, digest[:])
	if err != nil {
		return "", errors.New("sign with the private key")
	}
	return text + "." + encode(signature), nil
}
