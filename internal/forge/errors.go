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

// ErrExists is the answer to opening a pull request that is open.
var ErrExists = errors.New("there is such a pull request already")

// ErrNothing is the answer to opening a pull request between branches that do not differ.
var ErrNothing = errors.New("the branches do not differ")

// APIError is an answer that is no success.
type APIError struct {
	Status  int    // of HTTP
	Method  string // and
	Path    string // of the request
	Message string // of the site; bounded, on one line, without the token
}

// Error implements error.
func (e *APIError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// RateLimitError says that the site wants no more requests for a while. Nothing is sent
// before Until.
type RateLimitError struct {
	Host  string
	Until time.Time
}

// Error implements error.
func (e *RateLimitError) Error() string {
	return fmt.Sprintf("%s allows no more requests until %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// RetryAfter is how long to wait before the next try.
func (e *RateLimitError) RetryAfter() time.Duration { return time.Until(e.Until) }

// IsPermanent reports whether the same call would be refused again: the site understood it and
// did not take it. What a rotated token or a granted right puts right is not permanent.
func IsPermanent(err error) bool {
	if errors.Is(err, ErrExists) || errors.Is(err, ErrNothing) || errors.Is(err, httpclient.ErrTooLarge) {
		return true
	}
	api, ok := errors.AsType[*APIError](err)
	if !ok {
		return false
	}
	switch api.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// hasStatus reports whether a site answered with one of these.
func hasStatus(err error, statuses ...int) bool {
	api, ok := errors.AsType[*APIError](err)
	for _, s := range statuses {
		if ok && api.Status == s {
			return true
		}
	}
	return false
}

// says reports whether a site's message holds a text.
func says(err error, text string) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && strings.Contains(strings.ToLower(api.Message), text)
}

// plainError takes off what net/http and the clients put around an error: its address is said
// already.
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

// message finds what a site says in the body of an error: each has another shape.
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
			if said := flat(part); said != "" {
				text = strings.Trim(text+": "+said, ": ")
			}
		}
	} else if strings.HasPrefix(strings.TrimSpace(text), "<") {
		text = "" // a page for people
	}
	return cutLine(httpclient.Redact(text, secret), MaxMessageBytes)
}

// flat writes what may be a text, a list or an object.
func flat(v any) string {
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

// cutLine makes one line of at most limit bytes of a text; what is cut ends in an ellipsis.
func cutLine(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
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
