package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agentry-dev/agentry/internal/forge"
	"github.com/agentry-dev/agentry/internal/httpclient"
	"github.com/agentry-dev/agentry/internal/outbox"
	"github.com/agentry-dev/agentry/internal/pipelinefile"
)

const (
	// PostTimeout limits one call.
	PostTimeout = 10 * time.Second
	// maxAnswerBytes limits how much of an answer is read, to reuse its connection.
	maxAnswerBytes = 16 << 10
)

// The headers of a call, as sent by Flux's controllers.
const (
	headerComponent = "Gotk-Component"
	headerSignature = "X-Signature"
	component       = "agentry"
)

// post sends JSON. Its errors contain only the host of the address.
func post(ctx context.Context, pool *httpclient.Pool, address string, secret pipelinefile.EndpointSecret,
	body any) error {
	at, err := url.Parse(address)
	if err != nil {
		return outbox.Permanent(errors.New("the address cannot be parsed"))
	}
	client, err := pool.Client(httpclient.Connection{CAPEM: secret.CAPEM},
		httpclient.Options{Timeout: PostTimeout, MaxAnswerBytes: maxAnswerBytes})
	if err != nil {
		return fmt.Errorf("call %s: %w", at.Host, err)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return outbox.Permanent(fmt.Errorf("call %s: %w", at.Host, err))
	}
	data := bytes.TrimSpace(text.Bytes())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return outbox.Permanent(fmt.Errorf("call %s: the address cannot be called", at.Host))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", component)
	req.Header.Set(headerComponent, component)
	if len(secret.Secret) > 0 {
		req.Header.Set(headerSignature, sign(secret.Secret, data))
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("call %s: %w", at.Host, httpclient.PlainError(err))
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the content is not used
	_ = resp.Body.Close()                 // nothing was written
	return checkAnswer(at.Host, resp)
}

// checkAnswer returns the error of an answer, or nil.
func checkAnswer(host string, resp *http.Response) error {
	err := fmt.Errorf("call %s: %d %s", host, resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code < 400:
		return outbox.Permanent(fmt.Errorf("call %s: %d: redirects are not followed, correct the address", host, code))
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		if until, ok := forge.RetryAfter(resp.Header); ok {
			return laterError{err, until}
		}
		if code == http.StatusTooManyRequests {
			return outbox.Permanent(err)
		}
		return err
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotFound ||
		code == http.StatusRequestTimeout || code >= 500:
		return err // a secret may be rotating, or an object or route may appear soon
	}
	return outbox.Permanent(err)
}

// laterError is an answer that says when to try again.
type laterError struct {
	error
	until time.Time
}

// RetryAfter is called by the outbox.
func (e laterError) RetryAfter() time.Duration { return time.Until(e.until) }

// Unwrap returns the error itself.
func (e laterError) Unwrap() error { return e.error }

// sign returns the value of X-Signature.
func sign(key, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
