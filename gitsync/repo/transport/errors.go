package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/agentry-dev/agentry/gitsync/repo/limit"
	"github.com/agentry-dev/agentry/internal/httpclient"
)

// Errors that callers check for. Errors of sessions wrap one of them, or [limit.ErrTooLarge].
var (
	// ErrUnreachable means that the remote gave no usable answer: the connection failed or broke off, or the
	// context ended first.
	ErrUnreachable = errors.New("remote is unreachable")
	// ErrAuth means that the remote refused the credential, or that permission is missing.
	ErrAuth = errors.New("access denied by the remote")
	// ErrNoKey means that there is no private key for ssh.
	ErrNoKey = errors.New("ssh needs a private key")
	// ErrHostKey means that the ssh host key is not in known_hosts.
	ErrHostKey = errors.New("ssh host key is not trusted")
	// ErrRepositoryNotFound means that the remote has no such repository, or hides it from this credential.
	ErrRepositoryNotFound = errors.New("repository not found")
	// ErrRefNotFound means that the remote has no such branch, tag, ref or commit.
	ErrRefNotFound = errors.New("not found in the remote")
)

// explain converts an error to one of this package that names the remote and contains no secret. message is the
// remote's message.
func (c *Client) explain(ctx context.Context, action string, err error, message string) error {
	return c.explainCause(context.Cause(ctx), action, err, message)
}

// explainCause is like explain for a context that ended for the given cause, or that had not ended (nil) at the time
// of the error.
func (c *Client) explainCause(cause error, action string, err error, message string) error {
	kind := kindOf(cause, err, message)
	text := strings.TrimPrefix(err.Error(), kind.Error()+": ")
	if errors.Is(err, packp.ErrEmptyInput) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		text = "the connection ended early"
	}
	if cause != nil {
		text, err = cause.Error(), cause
	}
	if message != "" {
		text += ": " + message
	}
	remote := &remoteError{kind: kind, text: remoteText(text, c.secrets()), cause: err}
	return fmt.Errorf("%s of %s: %w", action, c.at, remote)
}

// kindOf returns the sentinel error for an error. Remotes report most refusals only as text. An unknown error counts
// as unreachable, so that it is retried.
func kindOf(cause, err error, message string) error {
	for _, kind := range []error{ErrAuth, ErrHostKey, ErrRepositoryNotFound, limit.ErrTooLarge, ErrRefNotFound} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	if cause != nil {
		return ErrUnreachable
	}
	if line, ok := errors.AsType[*pktline.ErrorLine](err); ok {
		message += " " + line.Text
	}
	switch {
	case containsAny(message, "not our ref"):
		return ErrRefNotFound
	case containsAny(message, "permission denied", "permission to ", "access denied", "not allowed", "unauthorized",
		"authentication failed", "write access", "read only", "read-only", "insufficient permission", "denied to"):
		return ErrAuth
	case containsAny(message, "not found", "does not exist", "does not appear to be a git repository",
		"not a git repository", "no such repository", "could not be found"):
		return ErrRepositoryNotFound
	}
	return ErrUnreachable
}

func containsAny(s string, subs ...string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(subs, func(sub string) bool { return strings.Contains(s, sub) })
}

// maxRemoteText limits the bytes of a remote's text in an error.
const maxRemoteText = 2 << 10

// remoteText makes a remote's text safe for an error: one paragraph of printable text without secrets, of about
// maxRemoteText bytes at most.
func remoteText(s string, secrets []string) string {
	s = httpclient.Redact(s, secrets...)
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	s = httpclient.Redact(s, secrets...) // secrets that control characters had split
	if len(s) > maxRemoteText {
		s = strings.ToValidUTF8(s[:maxRemoteText], "") + " ..."
	}
	return s
}

// remoteError is an error with a sentinel error that callers check for, and a text without secrets. The cause is only
// for errors.Is and errors.As.
type remoteError struct {
	kind  error
	text  string
	cause error
}

func (e *remoteError) Error() string {
	if e.text == "" {
		return e.kind.Error()
	}
	return fmt.Sprintf("%v: %s", e.kind, e.text)
}

func (e *remoteError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// tailBuffer keeps the last maxRemoteText bytes written to it. It can be read while it is written.
type tailBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - maxRemoteText; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.buf.String())
}
