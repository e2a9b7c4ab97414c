package repo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// RefOutcome is the state of one ref after a failed push.
type RefOutcome struct {
	Update
	// Err is nil if the ref has its new value. Otherwise it is ErrLostRace, ErrRejected, ErrHeldBack or
	// ErrUnreachable.
	Err error
	// Now is the ref's value after the push: zero if the ref does not exist or, with ErrUnreachable, is unknown.
	Now plumbing.Hash
	// Reason is the remote's message about this ref, if any.
	Reason string
}

// PushError is the error of [Pusher.Push]. It wraps the errors of its outcomes, and ErrAuth if the remote refused
// the credential or permission is missing.
type PushError struct {
	Remote  string       // the normalised URL
	Refs    []RefOutcome // in the order of the updates
	Message string       // the remote's message, such as the output of a hook
	Cause   error        // the error of the session; nil if the remote answered
}

// Error names each ref that was not moved, with the reason.
func (e *PushError) Error() string {
	var parts []string
	for _, o := range e.Refs {
		if o.Err == nil {
			continue
		}
		text := fmt.Sprintf("%s: %v", o.Ref, o.Err)
		if errors.Is(o.Err, ErrLostRace) {
			text += fmt.Sprintf(" (expected %s, found %s)", short(o.Old), short(o.Now))
		}
		if o.Reason != "" {
			text += ": " + o.Reason
		}
		parts = append(parts, text)
	}
	text := fmt.Sprintf("push to %s: %s", e.Remote, strings.Join(parts, "; "))
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the errors of the outcomes and the cause.
func (e *PushError) Unwrap() []error {
	var out []error
	for _, o := range e.Refs {
		if o.Err != nil {
			out = append(out, o.Err)
		}
	}
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	return out
}

func short(h plumbing.Hash) string {
	if h.IsZero() {
		return "none"
	}
	return h.String()[:10]
}
