package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/internal/httpclient"
)

// ErrExists means that the pull request is already open.
var ErrExists = errors.New("the pull request already exists")

// ErrNothing means that there is nothing to merge: the branches are equal.
var ErrNothing = errors.New("the branches do not differ")

// APIError is an unsuccessful response.
type APIError struct {
	Status  int    // the HTTP status
	Method  string // of the request
	Path    string // of the request
	Message string // the site's message, shortened to one line, without the token
}

// Error implements error.
func (e *APIError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// RateLimitError means that the site allows no more requests for now. Nothing is sent before Until.
type RateLimitError struct {
	Host  string
	Until time.Time
}

// Error implements error.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("%s allows no more requests until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// RetryAfter returns how long to wait before the next try.
func (e *RateLimitError) RetryAfter() time.Duration { return time.Until(e.Until) }

// IsPermanent reports whether a retry would fail too. An error that a new token or more rights could fix is not
// permanent.
func IsPermanent(err error) bool {
	if errors.Is(err, ErrExists) || errors.Is(err, ErrNothing) || errors.Is(err, httpclient.ErrTooLarge) {
		return true
	}
	api, ok := errors.AsType[*APIError](err)
	if !ok {
		return false
	}
	switch api.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// hasStatus reports whether the error is a response with one of these statuses.
func hasStatus(err error, statuses ...int) bool {
	api, ok := errors.AsType[*APIError](err)
	for _, s := range statuses {
		if ok && api.Status == s {
			return true
		}
	}
	return false
}

// mentions reports whether the site's message contains a text.
func mentions(err error, text string) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && strings.Contains(strings.ToLower(api.Message), text)
}

// plainError removes the address that net/http and the clients add to an error, because callers add it too.
func plainError(err error) error {
	if api, ok := errors.AsType[*APIError](err); ok {
		return api
	}
	if limit, ok := errors.AsType[*RateLimitError](err); ok {
		return limit
	}
	if errors.Is(err, httpclient.ErrTooLarge) {
		return httpclient.ErrTooLarge
	}
	return httpclient.PlainError(err)
}

// message returns the site's message in the body of an error, in any forge's format.
func message(body []byte, secret string) string {
	var answer struct {
		Message any `json:"message"`
		Error   any `json:"error"`
		Errors  any `json:"errors"`
	}
	text := string(body)
	if json.Unmarshal(body, &answer) == nil {
		text = ""
		for _, part := range []any{answer.Message, answer.Error, answer.Errors} {
			if said := toText(part); said != "" {
				text = strings.Trim(text+": "+said, ": ")
			}
		}
	} else if strings.HasPrefix(strings.TrimSpace(text), "<") {
		text = "" // an HTML page
	}
	return cutLine(httpclient.Redact(text, secret), MaxMessageBytes)
}

// toText returns a decoded JSON value as text.
func toText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		if said, ok := v["message"].(string); ok {
			return said
		}
	}
	data, err := json.Marshal(v)
	if err != nil || string(data) == "[]" || string(data) == "{}" {
		return ""
	}
	return string(data)
}

// cutLine returns a text on one line of at most limit bytes. A truncated text ends in an ellipsis.
func cutLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(text) <= limit {
		return text
	}
	const more = "…"
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
