package repo

import (
	"errors"
	"fmt"
	"strings"
)

// What a caller branches on. Errors of this package wrap them.
var (
	// ErrUnreachable means that the remote gave no usable answer: it could not be
	// dialled, was too slow for the context, or broke off.
	ErrUnreachable = errors.New("remote is unreachable")
	// ErrAuth means that the remote refused the credential or the permission.
	ErrAuth = errors.New("access denied by the remote")
	// ErrHostKey means that the ssh host key is not the one in known_hosts.
	ErrHostKey = errors.New("ssh host key is not trusted")
	// ErrRepositoryNotFound means that the remote holds no such repository, or
	// says so to this credential.
	ErrRepositoryNotFound = errors.New("repository not found")
	// ErrEmptyRepository means that the remote has no ref at all.
	ErrEmptyRepository = errors.New("remote repository is empty")
	// ErrRefNotFound means that the remote has no such branch, tag, ref or commit.
	ErrRefNotFound = errors.New("not found in the remote")
	// ErrCache means that the cache cannot be written: the disk is full, or not ours. Nothing
	// that was there is lost, and the next call tries again.
	ErrCache = errors.New("cache directory cannot be used")

	// ErrLostRace means that a ref has moved to a value that is neither the
	// expected old one nor ours.
	ErrLostRace = errors.New("ref was moved by someone else")
	// ErrHeldBack means that a ref was not moved because another ref of the same
	// push could not be.
	ErrHeldBack = errors.New("held back with the other refs")
	// ErrRejected means that the remote answered and refused the push.
	ErrRejected = errors.New("push was rejected by the remote")
)

// maxRemoteText is how many bytes of a remote's own words go into an error.
const maxRemoteText = 2 << 10

// remoteText makes a remote's words fit for an error: one paragraph of
// printable text of at most maxRemoteText bytes, without the secrets.
func remoteText(s string, secrets []string) string {
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxRemoteText {
		s = strings.ToValidUTF8(s[:maxRemoteText], "") + " ..."
	}
	return s
}

// remoteError is an error with a kind that callers branch on and a text that is
// safe to show. The cause is kept for errors.Is and errors.As only.
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
